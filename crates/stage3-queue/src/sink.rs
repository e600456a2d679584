//! The sink: code of the caller that gets the rows, and may panic.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use crawl_core::Row;

/// A sink whose panic ends the crawl, and not only the worker that had a row for it. Once the
/// sink has panicked it gets no more rows, and the panic is kept for the caller of the crawl.
pub struct GuardedSink {
    sink: RefCell<Box<dyn FnMut(Row)>>,
    panic: RefCell<Option<Box<dyn Any + Send>>>,
}

impl GuardedSink {
    /// Guards a sink.
    pub fn new(sink: impl FnMut(Row) + 'static) -> Self {
        Self { sink: RefCell::new(Box::new(sink)), panic: RefCell::default() }
    }

    /// Hands a row to the sink, unless it has panicked.
    pub fn write(&self, row: Row) {
        if self.has_panicked() {
            return;
        }
        let mut sink = self.sink.borrow_mut();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| sink(row))) {
            self.panic.replace(Some(panic));
        }
    }

    /// Returns true if the sink has panicked: the crawl should stop.
    pub fn has_panicked(&self) -> bool {
        self.panic.borrow().is_some()
    }

    /// Passes the sink's panic on, if there is one.
    ///
    /// # Panics
    /// When the sink has panicked.
    pub fn resume_panic(&self) {
        if let Some(panic) = self.panic.take() {
            resume_unwind(panic);
        }
    }
}
