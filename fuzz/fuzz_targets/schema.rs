#![no_main]

#[path = "../../apiserver/tests/fuzz/harness.rs"]
#[allow(dead_code, reason = "each target uses one of the harness's functions")]
mod harness;

use std::cell::RefCell;

use libfuzzer_sys::fuzz_target;

thread_local! {
    static HARNESS: RefCell<harness::Harness> = RefCell::default();
}

fuzz_target!(|data: &[u8]| {
    HARNESS.with_borrow(|server| harness::schema(server, data));
});
