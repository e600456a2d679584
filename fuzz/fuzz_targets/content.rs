//! A libFuzzer program of the target [`fuzz::content`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::content(input));
