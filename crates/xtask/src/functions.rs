//! Functions of a source file, found by their names.
//!
//! The name is a path as in Rust: `work`, `Queue::put` or, where a type has two functions
//! of one name, `<Queue as Drop>::drop`. So a lab and an exercise survive what happens to
//! the lines around their function.

use std::ops::Range;

use syn::spanned::Spanned;
use syn::{Block, ImplItem, Item, Signature, TraitItem, Type, Visibility};

/// The place of a function in its source, in bytes.
#[derive(Debug)]
pub(crate) struct Function {
    /// From the visibility to the end of the body, without documentation and attributes.
    pub(crate) all: Range<usize>,
    /// From the opening to the closing brace.
    pub(crate) body: Range<usize>,
    /// The blanks before it, in its line.
    pub(crate) indent: usize,
    /// True if it returns an `impl Trait`.
    pub(crate) returns_impl: bool,
    /// Its name, first the short one.
    names: Vec<String>,
}

impl Function {
    fn new(names: Vec<String>, vis: &Visibility, signature: &Signature, block: &Block) -> Self {
        let start = match vis {
            Visibility::Inherited => signature.span(),
            vis => vis.span(),
        };
        let body = block.brace_token.span.join().byte_range();
        let returns_impl = matches!(
            &signature.output,
            syn::ReturnType::Type(_, of) if matches!(**of, Type::ImplTrait(_))
        );
        let all = start.byte_range().start..body.end;
        Self { all, body, indent: start.start().column, returns_impl, names }
    }
}

/// Finds the function with this name in a source.
///
/// # Errors
/// When the source is not Rust, or has no such function, or several.
pub(crate) fn find(source: &str, name: &str) -> Result<Function, String> {
    let file = syn::parse_file(source).map_err(|error| format!("is not Rust: {error}"))?;
    let mut functions = functions(&file.items);
    functions.retain(|function| function.names.iter().any(|known| known == name));
    match (functions.pop(), functions.len()) {
        (Some(function), 0) => Ok(function),
        (None, _) => Err(format!("has no function {name}")),
        (Some(_), others) => {
            Err(format!("has {} functions {name}: write <Type as Trait>::function", others + 1))
        }
    }
}

/// Returns the functions that stand in a file, in an `impl` or in a trait of it, but not
/// those of modules in the same file: these are its tests.
fn functions(items: &[Item]) -> Vec<Function> {
    let mut functions = Vec::new();
    for item in items {
        match item {
            Item::Fn(item) => {
                let names = vec![item.sig.ident.to_string()];
                functions.push(Function::new(names, &item.vis, &item.sig, &item.block));
            }
            Item::Impl(block) => {
                let of = type_name(&block.self_ty);
                let of_trait = block.trait_.as_ref().and_then(|(path, _)| path.segments.last());
                for item in &block.items {
                    let ImplItem::Fn(item) = item else { continue };
                    let mut names = vec![format!("{of}::{}", item.sig.ident)];
                    names.extend(
                        of_trait.map(|it| format!("<{of} as {}>::{}", it.ident, item.sig.ident)),
                    );
                    functions.push(Function::new(names, &item.vis, &item.sig, &item.block));
                }
            }
            Item::Trait(block) => {
                for item in &block.items {
                    let TraitItem::Fn(item) = item else { continue };
                    let Some(body) = &item.default else { continue };
                    let names = vec![format!("{}::{}", block.ident, item.sig.ident)];
                    let vis = &Visibility::Inherited;
                    functions.push(Function::new(names, vis, &item.sig, body));
                }
            }
            _ => {}
        }
    }
    functions
}

/// Returns the name of a type, without its module and its parameters.
fn type_name(of: &Type) -> String {
    match of {
        Type::Path(path) => path.path.segments.last().map(|it| it.ident.to_string()),
        Type::Reference(reference) => Some(type_name(&reference.elem)),
        _ => None,
    }
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
/// Docs.
pub async fn alone(ä: &str) -> u32 { 1 }

impl<T: Clone> Queue<T> {
    #[inline]
    pub(crate) fn put(
        &self,
        item: T,
    ) -> impl Future<Output = ()> {
        async {}
    }
    fn drop(self) {}
}

impl<T> Drop for crate::Queue<T> {
    fn drop(&mut self) { \"}\"; }
}

impl Wake for &Waker {
    fn wake(self) {}
}

trait Step {
    fn step(&self);
    fn twice(&self) { self.step(); }
}

#[cfg(test)]
mod tests {
    fn alone() {}
}
";

    fn found(name: &str) -> Result<(&'static str, &'static str), String> {
        find(SOURCE, name).map(|found| (&SOURCE[found.all], &SOURCE[found.body]))
    }

    #[test]
    fn a_function_is_found_by_its_path() {
        let alone = found("alone").unwrap();
        assert_eq!(alone, ("pub async fn alone(ä: &str) -> u32 { 1 }", "{ 1 }"));
        let (all, body) = found("Queue::put").unwrap();
        assert!(all.starts_with("pub(crate) fn put(\n") && all.ends_with(body), "{all}");
        assert_eq!(body, "{\n        async {}\n    }");
        let returns_impl = |name| find(SOURCE, name).unwrap().returns_impl;
        assert!(returns_impl("Queue::put") && !returns_impl("alone"));
        assert_eq!(found("<Queue as Drop>::drop").unwrap().1, "{ \"}\"; }");
        assert_eq!(found("Waker::wake").unwrap().0, "fn wake(self) {}");
        assert_eq!(found("Step::twice").unwrap().1, "{ self.step(); }");
    }

    #[test]
    fn what_is_not_there_and_what_is_there_twice_is_an_error() {
        for name in ["put", "Queue::get", "Step::step", "tests::alone"] {
            assert_eq!(found(name).unwrap_err(), format!("has no function {name}"));
        }
        assert!(found("Queue::drop").unwrap_err().starts_with("has 2 functions Queue::drop: "));
        assert!(find("fn a( {", "a").unwrap_err().starts_with("is not Rust"));
    }
}
