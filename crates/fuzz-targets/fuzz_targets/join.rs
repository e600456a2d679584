//! A libFuzzer program of the target [`fuzz_targets::join`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz_targets::join(input));
