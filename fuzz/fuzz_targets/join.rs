//! A libFuzzer program of the target [`fuzz::join`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::join(input));
