//! The manifests of exercises: packages outside of any workspace.

use std::fs;
use std::io;
use std::path::Path;

use toml::{Table, Value};

/// Returns the version of the package in a folder. No other one has it: cargo tells
/// packages apart by name and version, and two that it takes for the same would share
/// what was built of one.
fn version(folder: &Path) -> String {
    let sign = |sign: char| match sign.is_ascii_alphanumeric() {
        true => sign.to_string(),
        false => format!("-{:x}-", u32::from(sign)),
    };
    format!("0.1.0+{}", folder.display().to_string().chars().map(sign).collect::<String>())
}

fn package(name: &str, folder: &Path) -> Table {
    let mut package = Table::new();
    package.insert("name".into(), name.into());
    package.insert("version".into(), version(folder).into());
    package.insert("edition".into(), "2024".into());
    package.insert("publish".into(), false.into());
    package.insert("autobins".into(), false.into());
    package
}

fn manifest(package: Table) -> Table {
    let mut lib = Table::new();
    lib.insert("doctest".into(), false.into());
    lib.insert("test".into(), false.into());
    let tables = [("package", package), ("lib", lib), ("workspace", Table::new())];
    tables.into_iter().map(|(name, table)| (name.to_owned(), Value::Table(table))).collect()
}

/// Returns the manifest of a library that is one file of the standard library's only,
/// and of the program that runs its `main`.
pub(super) fn of_example(name: &str, folder: &Path) -> String {
    let mut manifest = manifest(package(name, folder));
    let program = [("name", name.into()), ("path", "src/main.rs".into()), ("test", false.into())];
    let program = Table::from_iter(program.map(|(key, value): (_, Value)| (key.to_owned(), value)));
    manifest.insert("bin".into(), Value::Array(vec![program.into()]));
    manifest.to_string()
}

/// Returns the manifest of a copy of a crate: with its dependencies where they are,
/// and of its features `os`, if it has that one.
///
/// # Errors
/// When a manifest cannot be read.
pub(super) fn of_crate(root: &Path, sources: &Path, folder: &Path) -> io::Result<String> {
    let read = |path: &Path| -> io::Result<Table> {
        fs::read_to_string(path)?.parse().map_err(io::Error::other)
    };
    let (workspace, own) = (read(&root.join("Cargo.toml"))?, read(&sources.join("Cargo.toml"))?);
    let name = own.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
    let mut manifest = manifest(package(name.unwrap_or_default(), folder));
    if let Some(Value::Table(features)) = own.get("features") {
        let mut features = features.clone();
        let default: Vec<Value> =
            features.keys().filter(|name| *name == "os").map(|name| name.clone().into()).collect();
        features.insert("default".into(), default.into());
        manifest.insert("features".into(), features.into());
    }
    let all = workspace.get("workspace").and_then(|workspace| workspace.get("dependencies"));
    let mut dependencies = Table::new();
    for (name, own) in own.get("dependencies").and_then(Value::as_table).into_iter().flatten() {
        let mut dependency = match all.and_then(|all| all.get(name)) {
            Some(Value::Table(table)) => table.clone(),
            Some(version) => [("version".to_owned(), version.clone())].into_iter().collect(),
            None => {
                return Err(io::Error::other(format!("{name} is no dependency of the workspace")));
            }
        };
        if let Some(path) = dependency.get("path").and_then(Value::as_str) {
            let path = root.join(path).canonicalize()?.display().to_string();
            dependency.insert("path".into(), path.into());
        }
        let own = own.as_table().into_iter().flatten().filter(|(key, _)| *key != "workspace");
        for (key, value) in own {
            match (dependency.get_mut(key), value) {
                (Some(Value::Array(present)), Value::Array(more)) => present.extend(more.clone()),
                _ => drop(dependency.insert(key.clone(), value.clone())),
            }
        }
        dependencies.insert(name.clone(), dependency.into());
    }
    manifest.insert("dependencies".into(), dependencies.into());
    // The server of the tests.
    let demo_site = root.join("crates/demo-site").canonicalize()?.display().to_string();
    let path = Table::from_iter([("path".to_owned(), Value::from(demo_site))]);
    let demo_site = Table::from_iter([("demo-site".to_owned(), Value::from(path))]);
    manifest.insert("dev-dependencies".into(), demo_site.into());
    // As in the workspace: parsers without any optimisation take minutes.
    if let Some(profile) = workspace.get("profile") {
        let mut profile = profile.clone();
        if let Some(packages) = profile
            .get_mut("dev")
            .and_then(|dev| dev.get_mut("package"))
            .and_then(Value::as_table_mut)
        {
            packages.remove("stage2-coroutines");
        }
        manifest.insert("profile".into(), profile);
    }
    Ok(manifest.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_has_the_dependencies_where_they_are() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let folder = Path::new("/some/where");
        let text = of_crate(&root, &root.join("crates/stage1-callbacks"), folder).unwrap();
        let manifest: Table = text.parse().unwrap();
        let of = |name: &str, key: &str| manifest["dependencies"][name][key].clone();
        let path = root.join("crates/selector-core").display().to_string();
        assert_eq!(of("selector-core", "path").as_str(), Some(&*path));
        assert_eq!(of("cli", "optional").as_bool(), Some(true));
        assert_eq!(manifest["package"]["version"].as_str(), Some("0.1.0+-2f-some-2f-where"));
        assert_ne!(version(Path::new("/x/a-b")), version(Path::new("/x/a/b")));
        assert_eq!(manifest["features"]["default"].as_array().unwrap().len(), 1);
    }
}
