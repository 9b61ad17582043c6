//! What must not compile, and what the compiler says about it.
