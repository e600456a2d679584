//! The settings of a crawl, as they are kept.

use crawl_core::{Check, Settings};
use test_support::settings::{by_name, changed};

#[test]
fn every_setting_comes_back_as_it_was() {
    let settings = changed();
    let text = serde_json::to_string(&settings).unwrap();
    let back: Settings = serde_json::from_str(&text).unwrap();
    assert_eq!(by_name(&back), by_name(&settings));
    // Headers are hidden from both.
    assert_eq!(format!("{back:?}"), format!("{settings:?}"));
}

/// Otherwise the tests that take these settings elsewhere see less than all of them.
#[test]
fn every_changed_setting_differs_from_its_default() {
    let defaults = by_name(&Settings::new(Vec::new()));
    let changed = by_name(&changed());
    assert!(changed.keys().eq(defaults.keys()));
    for (name, value) in &changed {
        assert_ne!(Some(value), defaults.get(name), "{name}");
    }
}

#[test]
fn every_kind_of_links_has_a_name() {
    assert_eq!(Check::ALL.names(), Check::NAMES);
    let back = Check::try_from(Check::NAMES.map(str::to_owned).to_vec());
    assert_eq!(back, Ok(Check::ALL));
    Check::try_from(vec!["pictures".to_owned()]).unwrap_err();
}
