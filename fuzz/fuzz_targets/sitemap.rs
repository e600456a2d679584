//! A libFuzzer program of the target [`fuzz::sitemap`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::sitemap(input));
