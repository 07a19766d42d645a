#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| narrows_paths::fuzzing::packet_log(data));
