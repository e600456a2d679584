//! Import cycles between the files of a core: there are none, direct or indirect.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use test_support::sources::{code_lines, workspace};

#[test]
fn no_circle_between_the_files_of_web() {
    check("crates/web");
}

#[test]
fn no_circle_between_the_files_of_transport() {
    check("crates/transport");
}

#[test]
fn no_circle_between_the_files_of_selector_core() {
    check("crates/selector-core");
}

#[test]
fn no_circle_between_the_files_of_crawl_core() {
    check("crates/crawl-core");
}

#[test]
fn no_circle_between_the_files_of_stage2() {
    check("crates/stage2-coroutines");
}

#[test]
fn no_circle_between_the_files_of_stage0() {
    check("crates/stage0-threads");
}

#[test]
fn no_circle_between_the_files_of_benches() {
    check("benches");
}

/// The imports of each module, by module path such as `["html", "tokenizer"]`.
type Imports = BTreeMap<Vec<String>, BTreeSet<Vec<String>>>;

fn check(folder: &str) {
    let imports = imports(&workspace().join(folder).join("src"));
    let arrows: usize = imports.values().map(BTreeSet::len).sum();
    assert!(imports.len() > 3 && arrows > 3, "{folder}: nothing is found: {imports:?}");
    let circle = circle(&imports);
    assert!(circle.is_none(), "{folder}: {circle:?}");
}

/// Returns the imports that form a cycle, if there is one.
fn circle(imports: &Imports) -> Option<Vec<String>> {
    // Removes modules without remaining imports (Kahn's algorithm). The modules
    // that are left form a cycle or import one.
    let mut rest: Imports = imports.clone();
    while let Some(end) = rest
        .iter()
        .find(|(_, to)| to.iter().all(|to| !rest.contains_key(to)))
        .map(|(at, _)| at.clone())
    {
        rest.remove(&end);
    }
    let arrow = |(from, to): (&Vec<String>, &BTreeSet<Vec<String>>)| {
        let to: Vec<String> =
            to.iter().filter(|to| rest.contains_key(*to)).map(|to| to.join("::")).collect();
        format!("{} imports {}", from.join("::"), to.join(", "))
    };
    (!rest.is_empty()).then(|| rest.iter().map(arrow).collect())
}

/// Reads the imports of all modules below `src`. Imports between a module and
/// its submodules do not count.
fn imports(src: &Path) -> Imports {
    let files: BTreeMap<Vec<String>, String> = modules(src)
        .into_iter()
        .map(|(module, file)| {
            let text = fs::read_to_string(file).unwrap();
            (module, code_lines(&text).collect::<Vec<_>>().join("\n"))
        })
        .collect();
    let root_names = files.get(&Vec::new()).map(|text| reexports(text)).unwrap_or_default();
    let mut imports = Imports::new();
    for (module, text) in &files {
        let to = imports.entry(module.clone()).or_default();
        for path in paths(module, text) {
            // A name that the root re-exports stands for the module behind it.
            let path = match path.first().and_then(|name| root_names.get(name)) {
                Some(behind) => behind.clone(),
                None => path,
            };
            let longest = (1..=path.len()).rev().map(|n| path[..n].to_vec());
            if let Some(target) = longest.into_iter().find(|path| files.contains_key(path))
                && !target.starts_with(module)
                && !module.starts_with(&target)
            {
                to.insert(target);
            }
        }
    }
    imports
}

/// Returns the modules below `src` with their files.
fn modules(src: &Path) -> Vec<(Vec<String>, PathBuf)> {
    let mut modules = Vec::new();
    let mut folders = vec![(Vec::new(), src.to_owned())];
    while let Some((above, folder)) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            let mut module: Vec<String> = above.clone();
            if path.is_dir() {
                module.push(name);
                folders.push((module, path));
            } else if path.extension().is_some_and(|end| end == "rs") && name != "main" {
                if name != "lib" {
                    module.push(name);
                }
                modules.push((module, path));
            }
        }
    }
    modules
}

/// Returns the names that the root of a crate re-exports, with their paths.
fn reexports(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut names = BTreeMap::new();
    for path in use_paths(text) {
        let path: Vec<String> = path.into_iter().filter(|part| part != "self").collect();
        if let Some(name) = path.last() {
            names.insert(name.clone(), path.clone());
        }
    }
    names
}

/// Returns the paths within the crate that a module uses, relative to the
/// crate's root.
fn paths(module: &[String], text: &str) -> Vec<Vec<String>> {
    let mut paths = use_paths(text);
    // Paths outside of `use` declarations.
    for start in ["crate::", "super::"] {
        for (at, _) in text.match_indices(start) {
            let end = |c: char| !(c.is_alphanumeric() || c == '_' || c == ':');
            let rest = &text[at..];
            let path = &rest[..rest.find(end).unwrap_or(rest.len())];
            paths.push(
                path.split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect(),
            );
        }
    }
    paths.iter().filter_map(|path| from_root(module, path)).collect()
}

fn from_root(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let mut base = module.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => (base, rest) = (Vec::new(), &path[1..]),
        "self" => rest = &path[1..],
        "super" => {
            while rest.first().is_some_and(|part| part == "super") {
                base.pop();
                rest = &rest[1..];
            }
        }
        // Another crate.
        _ => return None,
    }
    base.extend_from_slice(rest);
    Some(base)
}

/// Returns every path of the `use` declarations of a text.
fn use_paths(text: &str) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    for statement in text.split(';') {
        let Some((_, tree)) = statement.rsplit_once("use ") else {
            continue;
        };
        let tree: String = tree.chars().filter(|c| !c.is_whitespace()).collect();
        expand(&tree, &mut Vec::new(), &mut paths);
    }
    paths
}

/// Expands `a::{b,c::d}` to `a::b` and `a::c::d`.
fn expand(tree: &str, above: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    let depth = above.len();
    let mut rest = tree;
    while let Some((part, behind)) = rest.split_once("::") {
        if part.contains(['{', ',']) {
            break;
        }
        above.push(part.to_owned());
        rest = behind;
    }
    if let Some(group) = rest.strip_prefix('{').and_then(|group| group.strip_suffix('}')) {
        let (mut open, mut begin) = (0, 0);
        for (at, sign) in group.char_indices().chain([(group.len(), ',')]) {
            match sign {
                '{' => open += 1,
                '}' => open -= 1,
                ',' if open == 0 => {
                    if begin < at {
                        expand(&group[begin..at], above, paths);
                    }
                    begin = at + 1;
                }
                _ => {}
            }
        }
    } else {
        let mut path = above.clone();
        path.push(rest.to_owned());
        paths.push(path);
    }
    above.truncate(depth);
}

#[test]
fn a_circle_is_found() {
    let module = |name: &str| vec![name.to_owned()];
    let arrow = |from: &str, to: &[&str]| {
        (module(from), to.iter().map(|to| module(to)).collect::<BTreeSet<_>>())
    };
    let straight: Imports = [arrow("a", &["b", "c"]), arrow("b", &["c"]), arrow("c", &[])].into();
    assert_eq!(circle(&straight), None);
    let round: Imports = [arrow("a", &["b"]), arrow("b", &["c"]), arrow("c", &["b"])].into();
    assert!(circle(&round).is_some());
    let text = "use crate::a::{self, b::C, d};\npub(crate) use super::e;\nlet x = crate::f::g();";
    let found: BTreeSet<String> =
        paths(&["m".into(), "n".into()], text).iter().map(|path| path.join("::")).collect();
    let expected = ["a::self", "a::b::C", "a::d", "m::e", "f::g"];
    assert!(expected.iter().all(|path| found.contains(*path)), "{found:?}");
}
