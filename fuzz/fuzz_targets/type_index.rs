#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| relayout_fuzz::targets::type_index(data));
