//! A libFuzzer program of the target [`fuzz::http`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::http(input));
