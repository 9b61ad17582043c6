//! Objects by revision, with a bounded history kept as an undo log, and the watches that follow it.
