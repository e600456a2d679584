//! One direction of a line, without any packets: a computation of the moment at
//! which each leaves at the other end.

use std::collections::VecDeque;
use std::time::Duration;

use fastrand::Rng;

/// One direction of a line: a queue, a wire that carries one packet after another,
/// and a delay. All moments are durations since the same beginning.
#[derive(Debug)]
pub struct Pacer {
    delay: Duration,
    bandwidth: u64,
    queue: usize,
    loss: f64,
    random: Rng,
    /// The moment at which the wire is free.
    free_at: Duration,
    /// For each packet of the queue, the moment at which it is on the wire.
    queued: VecDeque<Duration>,
}

impl Pacer {
    /// Makes a direction of `bandwidth` bits per second, which is greater than 0. A
    /// packet that finds `queue` others before it is dropped. Of those that have been
    /// on the wire, `loss` (a part of 1) are lost, chosen by the seed.
    pub fn new(delay: Duration, bandwidth: u64, queue: usize, loss: f64, seed: u64) -> Self {
        let (random, queued) = (Rng::with_seed(seed), VecDeque::new());
        Self { delay, bandwidth, queue, loss, random, free_at: Duration::ZERO, queued }
    }

    /// Sends a packet of so many bytes, and returns the moment at which it arrives, or
    /// `None` if it is dropped or lost. `now` is not earlier than in the last call.
    pub fn send(&mut self, now: Duration, bytes: usize) -> Option<Duration> {
        while self.queued.front().is_some_and(|sent| *sent <= now) {
            self.queued.pop_front();
        }
        if self.queued.len() >= self.queue {
            return None;
        }
        let time = bytes as f64 * 8.0 / self.bandwidth as f64;
        self.free_at = self.free_at.max(now) + Duration::from_secs_f64(time);
        self.queued.push_back(self.free_at);
        (self.random.f64() >= self.loss).then_some(self.free_at + self.delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Makes a direction on which a thousand bytes take 8 ms.
    fn pacer(queue: usize, loss: f64, seed: u64) -> Pacer {
        Pacer::new(50 * MS, 1_000_000, queue, loss, seed)
    }

    #[test]
    fn packets_leave_one_after_another() {
        let mut pacer = pacer(10, 0.0, 1);
        assert_eq!(pacer.send(Duration::ZERO, 1000), Some(58 * MS));
        assert_eq!(pacer.send(Duration::ZERO, 1000), Some(66 * MS));
        assert_eq!(pacer.send(4 * MS, 500), Some(70 * MS));
        // The wire has been free for a while.
        assert_eq!(pacer.send(100 * MS, 1000), Some(158 * MS));
    }

    #[test]
    fn a_full_queue_drops_packets_until_one_is_sent() {
        let mut pacer = pacer(2, 0.0, 1);
        assert!(pacer.send(Duration::ZERO, 1000).is_some());
        assert!(pacer.send(Duration::ZERO, 1000).is_some());
        assert_eq!(pacer.send(7 * MS, 1000), None);
        assert_eq!(pacer.send(8 * MS, 1000), Some(74 * MS));
    }

    #[test]
    fn lost_packets_depend_on_the_seed_and_take_their_time_on_the_wire() {
        let arrived = |seed| -> Vec<bool> {
            let mut pacer = pacer(usize::MAX, 0.01, seed);
            (0..100_000).map(|_| pacer.send(Duration::ZERO, 1000).is_some()).collect()
        };
        let lost = arrived(1).into_iter().filter(|arrived| !arrived).count();
        assert!((900..1100).contains(&lost), "{lost}");
        assert_eq!(arrived(1), arrived(1));
        assert_ne!(arrived(1), arrived(2));
        let mut pacer = pacer(10, 1.0, 1);
        assert_eq!(pacer.send(Duration::ZERO, 1000), None);
        pacer.loss = 0.0;
        assert_eq!(pacer.send(Duration::ZERO, 1000), Some(66 * MS));
    }
}
