//! Elements whose matching is counted, so that it can be ended.

use std::cell::Cell;

use ego_tree::NodeRef;
use html5ever::Namespace;
use scraper::selector::{CssLocalName, CssString, NonTSPseudoClass, PseudoElement, Simple};
use scraper::{ElementRef, Node};
use selectors::attr::{AttrSelectorOperation, CaseSensitivity, NamespaceConstraint};
use selectors::bloom::BloomFilter;
use selectors::context::MatchingContext;
use selectors::matching::ElementSelectorFlags;
use selectors::{Element, OpaqueElement};

use crate::{ErrorClass, FetchError};

/// The maximum number of steps on one page. So many take some tenths of a second.
const MAX_STEPS: usize = 8 << 20;

/// The number of bytes of text whose search counts as one step.
const BYTES_PER_STEP: usize = 16;

/// The steps that are left for a page: moves from one node to another, and searches of
/// its texts.
#[derive(Debug)]
pub(super) struct Steps(Cell<usize>);

impl Steps {
    pub(super) fn new() -> Self {
        Self(Cell::new(MAX_STEPS))
    }

    /// Takes this number of steps. Returns false if none is left.
    fn take(&self, steps: usize) -> bool {
        self.0.set(self.0.get().saturating_sub(steps));
        self.0.get() > 0
    }

    /// Takes the steps to search a text.
    fn take_text(&self, text: &str) {
        self.take(1 + text.len() / BYTES_PER_STEP);
    }

    /// Checks that the steps have sufficed.
    ///
    /// # Errors
    /// [`ErrorClass::TooComplex`] if they have not: then elements seemed to have no
    /// neighbours, and what matched means nothing.
    pub(super) fn check(&self) -> Result<(), FetchError> {
        if self.0.get() > 0 {
            return Ok(());
        }
        let message = format!("the selections take more than {MAX_STEPS} steps on this page");
        Err(FetchError::new(ErrorClass::TooComplex, message))
    }
}

/// An element of a tree, as the matching of selectors sees it. When no steps are left,
/// it has neither neighbours nor children, so that every search ends.
#[derive(Clone, Debug)]
pub(super) struct Counted<'a> {
    element: ElementRef<'a>,
    steps: &'a Steps,
}

impl<'a> Counted<'a> {
    /// Creates the element, and takes a step for it.
    pub(super) fn new(element: ElementRef<'a>, steps: &'a Steps) -> Self {
        steps.take(1);
        Self { element, steps }
    }

    /// Returns the texts in the element, as far as the steps suffice.
    pub(super) fn text(&self) -> impl Iterator<Item = &'a str> {
        let steps = self.steps;
        let nodes = self.element.descendants().take_while(|_| steps.take(1));
        nodes.filter_map(|node| {
            let text: &str = node.value().as_text()?;
            steps.take_text(text);
            Some(text)
        })
    }

    /// Returns the first of these nodes that is an element.
    fn first(&self, nodes: impl Iterator<Item = NodeRef<'a, Node>>) -> Option<Self> {
        let mut nodes = nodes.take_while(|_| self.steps.take(1));
        Some(Self { element: nodes.find_map(ElementRef::wrap)?, steps: self.steps })
    }
}

impl Element for Counted<'_> {
    type Impl = Simple;

    fn opaque(&self) -> OpaqueElement {
        self.element.opaque()
    }

    fn parent_element(&self) -> Option<Self> {
        self.first(self.element.parent().into_iter())
    }

    fn parent_node_is_shadow_root(&self) -> bool {
        false
    }

    fn containing_shadow_host(&self) -> Option<Self> {
        None
    }

    fn is_pseudo_element(&self) -> bool {
        false
    }

    fn prev_sibling_element(&self) -> Option<Self> {
        self.first(self.element.prev_siblings())
    }

    fn next_sibling_element(&self) -> Option<Self> {
        self.first(self.element.next_siblings())
    }

    fn first_element_child(&self) -> Option<Self> {
        self.first(self.element.children())
    }

    fn is_html_element_in_html_document(&self) -> bool {
        self.element.is_html_element_in_html_document()
    }

    fn has_local_name(&self, name: &CssLocalName) -> bool {
        self.element.has_local_name(name)
    }

    fn has_namespace(&self, namespace: &Namespace) -> bool {
        self.element.has_namespace(namespace)
    }

    fn is_same_type(&self, other: &Self) -> bool {
        self.element.is_same_type(&other.element)
    }

    fn attr_matches(
        &self,
        namespace: &NamespaceConstraint<&Namespace>,
        name: &CssLocalName,
        operation: &AttrSelectorOperation<&CssString>,
    ) -> bool {
        self.element.value().attrs().for_each(|(_, value)| self.steps.take_text(value));
        self.element.attr_matches(namespace, name, operation)
    }

    fn match_non_ts_pseudo_class(
        &self,
        class: &NonTSPseudoClass,
        context: &mut MatchingContext<'_, Simple>,
    ) -> bool {
        self.element.match_non_ts_pseudo_class(class, context)
    }

    fn match_pseudo_element(
        &self,
        element: &PseudoElement,
        context: &mut MatchingContext<'_, Simple>,
    ) -> bool {
        self.element.match_pseudo_element(element, context)
    }

    fn apply_selector_flags(&self, _: ElementSelectorFlags) {}

    fn is_link(&self) -> bool {
        self.element.is_link()
    }

    fn is_html_slot_element(&self) -> bool {
        self.element.is_html_slot_element()
    }

    fn has_id(&self, id: &CssLocalName, case_sensitivity: CaseSensitivity) -> bool {
        self.element.has_id(id, case_sensitivity)
    }

    fn has_class(&self, name: &CssLocalName, case_sensitivity: CaseSensitivity) -> bool {
        self.steps.take(self.element.value().classes().count());
        self.element.has_class(name, case_sensitivity)
    }

    fn has_custom_state(&self, _: &CssLocalName) -> bool {
        false
    }

    fn imported_part(&self, _: &CssLocalName) -> Option<CssLocalName> {
        None
    }

    fn is_part(&self, _: &CssLocalName) -> bool {
        false
    }

    fn is_empty(&self) -> bool {
        let is_content = |node: &NodeRef<'_, Node>| {
            self.steps.take(1);
            node.value().is_element() || node.value().is_text()
        };
        !self.element.children().any(|node| is_content(&node))
    }

    fn is_root(&self) -> bool {
        self.element.is_root()
    }

    fn add_element_unique_hashes(&self, filter: &mut BloomFilter) -> bool {
        self.element.add_element_unique_hashes(filter)
    }
}
