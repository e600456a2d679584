//! A plain queue of names in the place of the one that is fair by zone. It belongs to one
//! thread, and the list of public suffixes needs more stack than a thread of loom has.

use std::collections::VecDeque;

use crate::lookup::HostPort;

#[derive(Debug, Default)]
pub(crate) struct LookupQueue(VecDeque<HostPort>);

impl LookupQueue {
    pub(crate) fn push(&mut self, name: HostPort) {
        self.0.push_back(name);
    }

    pub(crate) fn start_next(&mut self) -> Option<HostPort> {
        self.0.pop_front()
    }

    pub(crate) fn end(&mut self, _name: &HostPort) {}
}
