//! How deeply an expression may nest. The parser and the evaluator of the crate recurse, and a stack that overflows
//! takes the whole process with it.

/// The most that [`of`] may find.
pub(super) const DEEPEST: usize = 400;

/// Up to here evaluation takes the stack that it finds.
pub(super) const ORDINARY: usize = 100;

/// The stack that the deepest expression needs, with room to spare in builds without optimisation.
const STACK: usize = 32 * 1024 * 1024;

/// Runs something that recurses as deeply as an expression of [`DEEPEST`] makes it.
pub(super) fn with_stack<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK / 2, STACK, run)
}

/// What one bracket or one conditional weighs: the parser goes through a dozen rules for each.
const BRACKET: usize = 16;

/// An upper bound of the depth of an expression's tree: brackets that are open at the same time, and the operators and
/// member accesses between them, which make one branch however they associate. What stands in quotes counts as well:
/// telling it apart would need the parser.
pub(super) fn of(text: &str) -> usize {
    let mut open = Vec::new();
    let (mut depth, mut here, mut deepest) = (0usize, 0usize, 0usize);
    let mut before = b' ';
    for byte in text.bytes() {
        match byte {
            b'(' | b'[' | b'{' => {
                open.push(here);
                depth += here + BRACKET;
                here = 0;
            }
            b')' | b']' | b'}' => {
                if let Some(outer) = open.pop() {
                    depth -= outer + BRACKET;
                    // What is in brackets may itself be the left side of an operator.
                    here = outer.max(here).saturating_add(1);
                }
            }
            // Arguments and items stand side by side.
            b',' => here = 0,
            b'?' => here += BRACKET,
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'&' | b'|' | b':' | b'.' => here += 1,
            b'n' if before == b'i' => here += 1,
            _ => {}
        }
        before = byte;
        deepest = deepest.max(depth + here);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::super::{Program, Variables};
    use super::*;

    #[test]
    fn what_nests_is_bounded_and_what_stands_side_by_side_is_not() {
        assert!(of("self.all(l, self.exists_one(m, l.name == m.name && l.port == m.port))") < 80);
        assert!(of(&format!("[{}]", "a.b, ".repeat(10_000))) < 40);
        for hostile in ["(", "!", "a?", "[", "1+", ".a", "1 in "] {
            assert!(of(&hostile.repeat(1_000)) > DEEPEST, "{hostile}");
        }
        assert!(of(&"f(a).".repeat(1_000)) > DEEPEST);
    }

    #[test]
    fn the_deepest_expressions_do_not_overflow_a_stack() {
        let brackets = DEEPEST / BRACKET - 1;
        for text in [
            format!("{}1{}", "(".repeat(brackets), ")".repeat(brackets)),
            format!("{}{}", "[".repeat(brackets), "]".repeat(brackets)),
            format!("1{}", "+1".repeat(DEEPEST - 2)),
            format!("{}true", "!".repeat(DEEPEST - 2)),
            format!("self{}", ".a".repeat(DEEPEST - 2)),
            format!("{}1", "true?1:".repeat(DEEPEST / (BRACKET + 1) - 1)),
        ] {
            let depth = of(&text);
            assert!((DEEPEST - 3 * BRACKET..=DEEPEST).contains(&depth), "{depth}: {text}");
            let program = Program::compile(&text).unwrap_or_else(|why| panic!("{why}"));
            let _ = program.evaluate(&Variables::default());
        }
        assert!(Program::compile(&"(".repeat(60_000)).is_err());
    }
}
