//! A libFuzzer program of the target [`fuzz::admission`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::admission(input));
