//! A libFuzzer program of the target [`fuzz::robots`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::robots(input));
