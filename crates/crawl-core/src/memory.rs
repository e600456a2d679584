//! The memory of the responses in flight: one budget for all of a crawl.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::{ErrorClass, FetchError, FetchResult};

/// The memory that all responses in flight may take together, in bytes.
const MAX_IN_FLIGHT: usize = 64 * 1024 * 1024;

/// The memory from which on a response is counted, in bytes. Nearly all responses stay
/// below it, and cost nothing here.
const MIN_COUNTED: usize = 64 * 1024;

/// The memory of the responses in flight that take much. Each may be within all limits
/// of one response, and hundreds of them together fill a machine.
#[derive(Debug, Default)]
pub(crate) struct MemoryBudget {
    used: AtomicUsize,
    holders: AtomicUsize,
}

/// The share of one response in the budget, given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct MemoryShare(Option<Box<Share>>);

#[derive(Debug)]
struct Share {
    budget: Arc<MemoryBudget>,
    bytes: usize,
    is_refused: bool,
}

impl MemoryShare {
    /// Changes the share to this number of bytes.
    ///
    /// # Errors
    /// [`ErrorClass::TooLarge`] when the budget is used up and this share is larger
    /// than the average. So a small page is not refused because of others, unless a
    /// thousand of them are large.
    pub(crate) fn set(&mut self, bytes: usize, budget: &Arc<MemoryBudget>) -> FetchResult {
        if self.0.is_none() && bytes < MIN_COUNTED {
            return Ok(());
        }
        let share = self.0.get_or_insert_with(|| {
            budget.holders.fetch_add(1, Ordering::Relaxed);
            Box::new(Share { budget: Arc::clone(budget), bytes: 0, is_refused: false })
        });
        if bytes > share.bytes {
            budget.used.fetch_add(bytes - share.bytes, Ordering::Relaxed);
        } else {
            budget.used.fetch_sub(share.bytes - bytes, Ordering::Relaxed);
        }
        share.bytes = bytes;
        let average = MAX_IN_FLIGHT / budget.holders.load(Ordering::Relaxed).max(1);
        if budget.used.load(Ordering::Relaxed) > MAX_IN_FLIGHT && bytes > average {
            share.is_refused = bytes <= MAX_IN_FLIGHT;
            let message = format!(
                "the responses in flight need more than {MAX_IN_FLIGHT} bytes, and this one more \
                 than its share"
            );
            return Err(FetchError::new(ErrorClass::TooLarge, message));
        }
        Ok(())
    }

    /// Returns true if the response was refused because of others: later there may be
    /// room for it.
    pub(crate) fn is_refused(&self) -> bool {
        self.0.as_ref().is_some_and(|share| share.is_refused)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.budget.used.fetch_sub(self.bytes, Ordering::Relaxed);
        self.budget.holders.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_is_refused_when_the_budget_is_used_up() {
        let budget = Arc::new(MemoryBudget::default());
        let mut shares: Vec<_> = (0..300).map(|_| MemoryShare::default()).collect();
        let mut small = MemoryShare::default();
        let mut refused = 0;
        for mib in 1..=8 {
            for share in &mut shares {
                small.set(100_000, &budget).unwrap();
                if !share.is_refused() && share.set(mib << 20, &budget).is_err() {
                    assert!(share.is_refused());
                    refused += 1;
                    // The visit forgets the response.
                    *share = MemoryShare::default();
                }
            }
            let used = budget.used.load(Ordering::Relaxed);
            assert!(used <= MAX_IN_FLIGHT, "{used}");
        }
        assert!(refused > 200, "{refused}");
        drop((shares, small));
        let left = [&budget.used, &budget.holders].map(|count| count.load(Ordering::Relaxed));
        assert_eq!(left, [0, 0]);
    }

    #[test]
    fn a_small_response_is_not_counted() {
        let budget = Arc::new(MemoryBudget::default());
        let mut share = MemoryShare::default();
        share.set(MIN_COUNTED - 1, &budget).unwrap();
        assert_eq!(budget.used.load(Ordering::Relaxed), 0);
        share.set(MIN_COUNTED, &budget).unwrap();
        share.set(10, &budget).unwrap();
        assert_eq!(budget.used.load(Ordering::Relaxed), 10);
    }
}
