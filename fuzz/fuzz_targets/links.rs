//! A libFuzzer program of the target [`fuzz::links`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::links(input));
