//! The registrable domain of a name, by the public suffix list.

/// Returns the registrable domain of a name in lowercase: its public suffix and the
/// label before that; nothing if there is no such label.
#[cfg(not(target_family = "wasm"))]
pub(crate) fn domain_str(name: &str) -> Option<&str> {
    psl2::lookup(name)?.registrable_domain()
}

/// Returns the last two labels of a name. The list would be half of a program for a
/// browser, where no names of the real network are fetched.
#[cfg(target_family = "wasm")]
pub(crate) fn domain_str(name: &str) -> Option<&str> {
    let (front, _) = name.rsplit_once('.')?;
    Some(front.rsplit_once('.').map_or(name, |(before, _)| &name[before.len() + 1..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::domain_str;

    #[test]
    fn a_registrable_domain_is_a_suffix_and_one_label() {
        for (name, domain) in [
            ("www.example.com", Some("example.com")),
            ("example.com", Some("example.com")),
            ("com", None),
            ("www.example.co.uk", Some("example.co.uk")),
            ("co.uk", None),
            // A suffix of the list's private part.
            ("docs.someone.github.io", Some("someone.github.io")),
            ("github.io", None),
            // `*.ck`, and its exception.
            ("shop.any.ck", Some("shop.any.ck")),
            ("any.ck", None),
            ("shop.www.ck", Some("www.ck")),
            ("a.xn--55qx5d.cn", Some("a.xn--55qx5d.cn")),
            // What is not in the list has a suffix of one label.
            ("a.b.test", Some("b.test")),
            ("localhost", None),
        ] {
            assert_eq!(domain_str(name), domain, "{name}");
        }
    }

    proptest! {
        /// Another implementation, with its own copy of the list, finds the same.
        #[test]
        fn names_have_the_domains_that_another_library_finds(
            labels in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "amazonaws", "city", "ck", "co", "com", "github", "io", "jp",
                    "kawasaki", "s3", "test", "uk", "www", "xn--55qx5d", "cn",
                ]),
                1..6,
            ),
        ) {
            let name = labels.join(".");
            prop_assert_eq!(domain_str(&name), psl::domain_str(&name), "{}", name);
        }
    }
}
