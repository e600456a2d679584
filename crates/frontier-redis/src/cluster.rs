//! The servers of one crawl: one, or the nodes of a cluster, over which the partitions
//! of the crawl are spread.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use redis_protocol::redis_keyslot;
use redis_protocol::resp2::types::OwnedFrame;
use stage2_coroutines::{EventLoop, sleep};
use transport::TlsConnector;

use crate::node::{CallError, CallResult, Command, Node, run_id_of};
use crate::scripts::Script;
use crate::server::Server;

/// Pause before a call is repeated that a node has sent to itself, or that was sent from node
/// to node too often: the cluster changes.
const MOVED_PAUSE: Duration = Duration::from_millis(50);

/// Number of nodes that get a call without a pause, one after another.
const MAX_MOVES: u32 = 3;

/// The servers of a crawl.
pub(crate) struct Cluster {
    event_loop: EventLoop,
    server: Server,
    tls: Rc<TlsConnector>,
    max_wait: Duration,
    losses: Rc<Cell<u64>>,
    name: String,
    nodes: RefCell<HashMap<String, Rc<Node>>>,
    /// The node of each slot that a call was sent to.
    slots: RefCell<HashMap<u16, Rc<Node>>>,
}

impl Cluster {
    /// Opens nothing yet: each server is opened at its first call.
    pub(crate) fn new(
        event_loop: &EventLoop,
        server: Server,
        tls: TlsConnector,
        max_wait: Duration,
        name: &str,
    ) -> Self {
        Self {
            event_loop: event_loop.clone(),
            server,
            tls: Rc::new(tls),
            max_wait,
            losses: Rc::default(),
            name: name.to_owned(),
            nodes: RefCell::default(),
            slots: RefCell::default(),
        }
    }

    /// Returns the key of a partition. What is in braces chooses its node, and all other
    /// keys of the partition begin with it.
    pub(crate) fn key(&self, partition: usize) -> String {
        format!("{{{}:{partition}}}", self.name)
    }

    /// Returns the number of connections that were lost. Behind each of them, a server may
    /// have been restarted, and have lost what it did in its last moments.
    pub(crate) fn losses(&self) -> u64 {
        self.losses.get()
    }

    fn node_at(&self, server: Server) -> Rc<Node> {
        let mut nodes = self.nodes.borrow_mut();
        let node = nodes.entry(server.to_string()).or_insert_with(|| {
            Rc::new(Node::new(&self.event_loop, server, &self.tls, self.max_wait, &self.losses))
        });
        Rc::clone(node)
    }

    /// Returns all nodes: of a cluster those with slots, otherwise the only one.
    ///
    /// # Errors
    /// When the server is lost, or does not let this user ask for the nodes of a cluster.
    pub(crate) async fn all_nodes(&self) -> Result<Vec<Rc<Node>>, CallError> {
        let first = self.node_at(self.server.clone());
        let words = vec![b"CLUSTER".to_vec(), b"SLOTS".to_vec()];
        let ranges = match first.call(Command::new(words)).await {
            Ok(OwnedFrame::Array(ranges)) => ranges,
            // A user that may not ask. Of a cluster, it would know one node only.
            Err(CallError::Refused(message)) if message.starts_with("NOPERM") => {
                let words = vec![b"INFO".to_vec(), b"cluster".to_vec()];
                let info = text_of(&first.call(Command::new(words)).await?);
                if info.is_some_and(|info| info.contains("cluster_enabled:1")) {
                    return Err(CallError::Refused(message));
                }
                return Ok(vec![first]);
            }
            // Not a node of a cluster.
            Ok(_) | Err(CallError::Refused(_)) => return Ok(vec![first]),
            Err(error) => return Err(error),
        };
        let mut nodes: Vec<Rc<Node>> = Vec::new();
        for range in &ranges {
            // First and last slot, then the master: its host, its port, its id.
            if let OwnedFrame::Array(range) = range
                && let [_, _, OwnedFrame::Array(master), ..] = &range[..]
                && let [host, OwnedFrame::Integer(port), ..] = &master[..]
            {
                let host = text_of(host).unwrap_or_default();
                let node = self.node_at(self.server.at(&host, u16::try_from(*port).unwrap_or(0)));
                if nodes.iter().all(|other| !Rc::ptr_eq(other, &node)) {
                    nodes.push(node);
                }
            }
        }
        Ok(if nodes.is_empty() { vec![first] } else { nodes })
    }

    /// Calls a script on a partition.
    ///
    /// # Errors
    /// When its server is lost or answers with an error.
    pub(crate) async fn script(
        &self,
        script: &'static Script,
        partition: usize,
        arguments: &[Vec<u8>],
    ) -> CallResult {
        let key = self.key(partition);
        let words = || {
            let key = [key.as_bytes().to_vec()];
            key.into_iter().chain(arguments.iter().cloned()).collect()
        };
        let command = |is_repeated| Command { script: Some(script), words: words(), is_repeated };
        self.route(&key, command).await
    }

    /// Sends a command about a partition. The first of `words` is the command, and the
    /// key of the partition with `suffix` is put behind it.
    ///
    /// # Errors
    /// As for [`Cluster::script`].
    pub(crate) async fn command(
        &self,
        partition: usize,
        suffix: &str,
        words: &[&[u8]],
    ) -> CallResult {
        let key = self.key(partition) + suffix;
        let words = || {
            let mut words: Vec<Vec<u8>> = words.iter().map(|word| word.to_vec()).collect();
            words.insert(1.min(words.len()), key.clone().into_bytes());
            words
        };
        self.route(&key, |_| Command::new(words())).await
    }

    /// Returns the node of a slot, as far as it is known.
    fn node_of(&self, slot: u16) -> Rc<Node> {
        let node = self.slots.borrow().get(&slot).cloned();
        node.unwrap_or_else(|| self.node_at(self.server.clone()))
    }

    /// Sends a command to the node of the slot of its key, wherever the cluster has
    /// moved it. Nodes that send it to each other are waited for as long as a server that
    /// does not answer. `command` gets true if the call may have been made before.
    ///
    /// A node that is lost is waited for, too: no other node is asked whether it has the slot
    /// now.
    async fn route(&self, key: &str, command: impl Fn(bool) -> Command) -> CallResult {
        let slot = redis_keyslot(key.as_bytes());
        let (mut moves, mut pausing_since) = (0, None);
        let losses = self.losses();
        loop {
            let node = self.node_of(slot);
            // A node that has lost a connection may have made the call, before it has sent
            // it on.
            match node.call(command(self.losses() != losses)).await {
                Err(CallError::Refused(message)) if message.starts_with("MOVED ") => {
                    let address = message.rsplit(' ').next().and_then(|at| at.rsplit_once(':'));
                    let Some((host, port)) = address else {
                        return Err(CallError::Refused(message));
                    };
                    let port = port.parse().unwrap_or(0);
                    let moved_to = self.node_at(self.server.at(host, port));
                    moves += 1;
                    if moves > MAX_MOVES || Rc::ptr_eq(&moved_to, &node) {
                        let now = self.event_loop.now();
                        if now >= *pausing_since.get_or_insert(now) + self.max_wait {
                            let message = format!("no node has what the cluster says: {message}");
                            return Err(CallError::Lost(message));
                        }
                        sleep(&self.event_loop, MOVED_PAUSE).await;
                    }
                    self.slots.borrow_mut().insert(slot, moved_to);
                }
                result => return result,
            }
        }
    }

    /// Returns the run id of the server that holds a partition: another one after each
    /// start. In a cluster, a command about that partition has to come first: only its
    /// reply says which node holds it.
    ///
    /// # Errors
    /// As for [`Cluster::script`].
    pub(crate) async fn run_id(&self, partition: usize) -> Result<String, CallError> {
        let node = self.node_of(redis_keyslot(self.key(partition).as_bytes()));
        let words = vec![b"INFO".to_vec(), b"server".to_vec()];
        Ok(run_id_of(&node.call(Command::new(words)).await?))
    }

    /// Returns the clock of the server that holds a partition, in microseconds, after a
    /// command about that partition, as for [`Cluster::run_id`].
    ///
    /// # Errors
    /// As for [`Cluster::script`].
    pub(crate) async fn now(&self, partition: usize) -> Result<u64, CallError> {
        let node = self.node_of(redis_keyslot(self.key(partition).as_bytes()));
        let time = elements_of(node.call(Command::new(vec![b"TIME".to_vec()])).await?);
        let number = |n: usize| time.get(n).map_or(0, number_of) as u64;
        Ok(number(0) * 1_000_000 + number(1))
    }
}

/// Runs calls at the same time, and returns their results in the same order.
pub(crate) async fn at_once<C: Future>(calls: impl IntoIterator<Item = C>) -> Vec<C::Output> {
    let mut calls: Vec<_> = calls.into_iter().map(|call| (Box::pin(call), None)).collect();
    poll_fn(|context| {
        let mut all_done = Poll::Ready(());
        for (call, result) in calls.iter_mut().filter(|(_, result)| result.is_none()) {
            match call.as_mut().poll(context) {
                Poll::Ready(value) => *result = Some(value),
                Poll::Pending => all_done = Poll::Pending,
            }
        }
        all_done
    })
    .await;
    calls.into_iter().filter_map(|(_, result)| result).collect()
}

/// Returns the text of a reply.
pub(crate) fn text_of(frame: &OwnedFrame) -> Option<String> {
    match frame {
        OwnedFrame::BulkString(bytes) | OwnedFrame::SimpleString(bytes) => {
            Some(String::from_utf8_lossy(bytes).into_owned())
        }
        OwnedFrame::Integer(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns the elements of a reply; none if it is not an array.
pub(crate) fn elements_of(frame: OwnedFrame) -> Vec<OwnedFrame> {
    match frame {
        OwnedFrame::Array(elements) => elements,
        _ => Vec::new(),
    }
}

/// Returns the number in a reply, which may be text; 0 if there is none.
pub(crate) fn number_of(frame: &OwnedFrame) -> i64 {
    text_of(frame).and_then(|text| text.parse().ok()).unwrap_or_default()
}

/// Returns the pairs of a reply to `HGETALL`.
pub(crate) fn pairs_of(frame: OwnedFrame) -> Vec<(String, String)> {
    let texts: Vec<_> = elements_of(frame).iter().map(|e| text_of(e).unwrap_or_default()).collect();
    texts.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect()
}
