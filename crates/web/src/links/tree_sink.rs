//! The sink of the tree builder, which counts the work and the memory of a tree.

use std::borrow::Cow;
use std::cell::{Cell, Ref};

use ego_tree::NodeId;
use html5ever::tendril::StrTendril;
use html5ever::tree_builder::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::{Attribute, QualName};
use scraper::{Html, HtmlTreeSink, Node};

use super::MAX_TREE_MEMORY;
use crate::{ErrorClass, FetchError};

/// The maximum number of steps of the tree builder, each a look at one open element or
/// one attribute. An ordinary page takes about one for each of its bytes. So many take
/// some tenths of a second.
pub(super) const MAX_STEPS: usize = 32 << 20;

/// The memory of a node: its value, and five links to other nodes.
const NODE_SIZE: usize = size_of::<Node>() + 5 * size_of::<usize>();

/// The memory of an attribute without its value.
const ATTRIBUTE_SIZE: usize = size_of::<(QualName, StrTendril)>();

/// A builder of the tree that counts what it does. Errors of the markup are not kept.
pub(super) struct CountingSink {
    tree: HtmlTreeSink,
    steps: Cell<usize>,
    memory: Cell<usize>,
}

impl CountingSink {
    pub(super) fn new() -> Self {
        let tree = HtmlTreeSink::new(Html::new_document());
        Self { tree, steps: Cell::new(0), memory: Cell::new(0) }
    }

    /// Checks the tree built so far.
    ///
    /// # Errors
    /// [`ErrorClass::TooComplex`] if it takes too many steps or too much memory.
    pub(super) fn check(&self) -> Result<(), FetchError> {
        let message = if self.memory.get() > MAX_TREE_MEMORY {
            format!("the tree of the page takes more than {MAX_TREE_MEMORY} bytes")
        } else if self.steps.get() > MAX_STEPS {
            return Err(too_many_steps());
        } else {
            return Ok(());
        };
        Err(FetchError::new(ErrorClass::TooComplex, message))
    }

    /// Returns the number of steps so far.
    pub(super) fn steps(&self) -> usize {
        self.steps.get()
    }

    fn step(&self) {
        self.steps.update(|steps| steps + 1);
    }

    /// Counts a new node with this length of text.
    fn add_node(&self, text_len: usize) {
        self.step();
        self.memory.update(|memory| memory + NODE_SIZE + text_len);
    }

    fn add_attributes(&self, attributes: &[Attribute]) {
        let size = |attribute: &Attribute| ATTRIBUTE_SIZE + attribute.value.len();
        let size: usize = attributes.iter().map(size).sum();
        self.memory.update(|memory| memory + size);
        self.steps.update(|steps| steps + attributes.len());
    }

    /// Counts text, which may become a node.
    fn add_text(&self, child: &NodeOrText<NodeId>) {
        if let NodeOrText::AppendText(text) = child {
            self.add_node(text.len());
        }
    }
}

pub(super) fn too_many_steps() -> FetchError {
    let message = format!("the tree of the page takes more than {MAX_STEPS} steps");
    FetchError::new(ErrorClass::TooComplex, message)
}

impl TreeSink for CountingSink {
    type Output = Html;
    type Handle = NodeId;
    type ElemName<'a> = Ref<'a, QualName>;

    fn finish(self) -> Html {
        self.tree.finish()
    }

    fn parse_error(&self, _: Cow<'static, str>) {}

    fn set_quirks_mode(&self, mode: QuirksMode) {
        self.tree.set_quirks_mode(mode);
    }

    fn get_document(&self) -> NodeId {
        self.tree.get_document()
    }

    fn same_node(&self, one: &NodeId, other: &NodeId) -> bool {
        self.step();
        one == other
    }

    fn elem_name<'a>(&'a self, target: &'a NodeId) -> Ref<'a, QualName> {
        self.step();
        self.tree.elem_name(target)
    }

    fn create_element(
        &self,
        name: QualName,
        attributes: Vec<Attribute>,
        flags: ElementFlags,
    ) -> NodeId {
        self.add_node(0);
        self.add_attributes(&attributes);
        self.tree.create_element(name, attributes, flags)
    }

    fn create_comment(&self, text: StrTendril) -> NodeId {
        self.add_node(text.len());
        self.tree.create_comment(text)
    }

    fn create_pi(&self, target: StrTendril, data: StrTendril) -> NodeId {
        self.add_node(target.len() + data.len());
        self.tree.create_pi(target, data)
    }

    fn append_doctype_to_document(
        &self,
        name: StrTendril,
        public_id: StrTendril,
        system_id: StrTendril,
    ) {
        self.add_node(name.len() + public_id.len() + system_id.len());
        self.tree.append_doctype_to_document(name, public_id, system_id);
    }

    fn append(&self, parent: &NodeId, child: NodeOrText<NodeId>) {
        self.add_text(&child);
        self.tree.append(parent, child);
    }

    fn append_before_sibling(&self, sibling: &NodeId, child: NodeOrText<NodeId>) {
        self.add_text(&child);
        self.tree.append_before_sibling(sibling, child);
    }

    fn append_based_on_parent_node(
        &self,
        element: &NodeId,
        previous: &NodeId,
        child: NodeOrText<NodeId>,
    ) {
        self.add_text(&child);
        self.tree.append_based_on_parent_node(element, previous, child);
    }

    fn remove_from_parent(&self, target: &NodeId) {
        self.step();
        self.tree.remove_from_parent(target);
    }

    fn reparent_children(&self, node: &NodeId, new_parent: &NodeId) {
        let html = self.tree.0.borrow();
        let children = html.tree.get(*node).map_or(0, |node| node.children().count());
        drop(html);
        self.steps.update(|steps| steps + children);
        self.tree.reparent_children(node, new_parent);
    }

    fn add_attrs_if_missing(&self, target: &NodeId, attributes: Vec<Attribute>) {
        self.add_attributes(&attributes);
        // Each is inserted into a sorted list.
        let html = self.tree.0.borrow();
        let element = html.tree.get(*target).and_then(|node| node.value().as_element());
        let before = element.map_or(0, |element| element.attrs.len());
        drop(html);
        self.steps.update(|steps| steps + before * attributes.len());
        self.tree.add_attrs_if_missing(target, attributes);
    }

    fn get_template_contents(&self, target: &NodeId) -> NodeId {
        self.tree.get_template_contents(target)
    }
}
