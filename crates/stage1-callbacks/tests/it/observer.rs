//! What an observer sees of a loop, and when the loop calls its sources.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::rc::Rc;
use std::time::Duration;

use selector_core::{Interest, Socket};
use stage1_callbacks::{EventLoop, Moment};

/// A computation that waits for its socket, then for a timer, and stops the loop.
struct Waiting {
    address: SocketAddr,
    socket: Option<Socket>,
}

impl Waiting {
    fn begin(mut self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        let (socket, key) = event_loop.selector.connect(self.address).unwrap();
        self.socket = Some(socket);
        event_loop.register(key, Interest::Writable, self, Self::connected);
    }

    fn connected(self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        event_loop.call_at(event_loop.now() + Duration::from_millis(1), self, Self::end);
    }

    #[allow(clippy::boxed_local)] // So the loop calls its methods.
    fn end(self: Box<Self>, event_loop: &mut EventLoop<Self>) {
        event_loop.stop();
    }
}

#[test]
fn an_observer_sees_each_call_and_each_wait_for_a_socket() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let seen = Rc::new(RefCell::new(Vec::new()));
    let mut event_loop = EventLoop::new()?;
    let log = Rc::clone(&seen);
    event_loop.set_observer(Box::new(move |moment: Moment<'_, Waiting>| {
        log.borrow_mut().push(match moment {
            Moment::Starts { .. } => "starts",
            Moment::Started => "started",
            Moment::Waits { on: Interest::Writable, .. } => "waits until writable",
            Moment::Waits { .. } => "waits until readable",
            Moment::Calls { key: Some(_), .. } => "calls for a socket",
            Moment::Calls { key: None, .. } => "calls for a timer",
        });
    }));
    let waiting = Waiting { address: listener.local_addr()?, socket: None };
    event_loop.start(Box::new(waiting), Waiting::begin);
    event_loop.run()?;
    let expected =
        ["starts", "waits until writable", "started", "calls for a socket", "calls for a timer"];
    assert_eq!(seen.take(), expected);
    assert_eq!(event_loop.stats().callbacks, 2);
    Ok(())
}

#[test]
fn sources_are_called_once_in_each_tick_and_may_add_others() -> io::Result<()> {
    let mut event_loop: EventLoop<()> = EventLoop::new()?;
    let calls = Rc::new(Cell::new((0, 0)));
    let counted = Rc::clone(&calls);
    event_loop.add_source(Rc::new(move |event_loop| {
        let (first, second) = counted.get();
        counted.set((first + 1, second));
        if first == 0 {
            let counted = Rc::clone(&counted);
            event_loop.add_source(Rc::new(move |_| {
                let (first, second) = counted.get();
                counted.set((first, second + 1));
            }));
        }
        if first == 2 {
            event_loop.stop();
        }
        // Without an event, the next tick would wait forever.
        event_loop.call_at(event_loop.now(), Box::new(()), |_, _| ());
    }));
    event_loop.call_at(event_loop.now(), Box::new(()), |_, _| ());
    event_loop.run()?;
    assert_eq!(calls.get(), (3, 2));
    Ok(())
}
