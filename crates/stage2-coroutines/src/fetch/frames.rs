//! The sizes of the frames of a fetch, which the book prints.

use super::*;

/// The frame of a fetch contains those of the functions that it calls. Every
/// fetch in flight has one, so this counts what each level adds: its arguments
/// (twice, since an `async fn` keeps them apart from its variables), its
/// variables, and the frame that it waits for.
#[test]
fn the_frame_of_a_fetch_is_small() {
    fn two<A, B, C>(_: impl Fn(A, B) -> C) -> usize {
        size_of::<C>()
    }
    fn three<A, B, C, D>(_: impl Fn(A, B, C) -> D) -> usize {
        size_of::<D>()
    }
    fn four<A, B, C, D, E>(_: impl Fn(A, B, C, D) -> E) -> usize {
        size_of::<E>()
    }
    let frames = [
        ("exchange: 4 arguments and a loop, and read_all", four(Client::exchange), 208),
        ("connect: 3 arguments, the addresses, a box", three(Connector::connect), 144),
        ("connection: a socket, its registration, a guard", size_of::<Connection>(), 72),
        ("attempt: 3 arguments, connection and exchange", three(Client::attempt), 336),
        ("deadline", size_of::<Deadline>(), 40),
        ("fetch: 2 arguments, deadline, timer and attempt", two(Client::fetch), 472),
    ];
    for (what, size, limit) in frames {
        println!("{size:4} {what}");
        assert!(size <= limit, "{what}: {size} bytes");
    }
}
