//! One run of trybuild: it checks the dependencies once more, in a target folder of its own that is kept.

#[test]
fn what_must_not_compile_says_what_to_write_instead() {
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}
