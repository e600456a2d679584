//! A libFuzzer program of the target [`fuzz::visit`].
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| fuzz::visit(input));
