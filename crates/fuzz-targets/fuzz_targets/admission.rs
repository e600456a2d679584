//! A libFuzzer program of the target [`fuzz_targets::admission`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz_targets::admission(input));
