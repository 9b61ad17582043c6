//! Inputs made from a corpus, the same for the same seed.

/// Words that parsers give a meaning to.
const WORDS: &[&[u8]] = &[
    b"{",
    b"}",
    b"[",
    b"]",
    b"\"",
    b":",
    b",",
    b"null",
    b"true",
    b"-1",
    b"1e309",
    b"9223372036854775808",
    b"\\u0000",
    b"metadata",
    b"managedFields",
    b"$patch",
    b"$setElementOrder/",
    b"../",
    b"%",
    b"\xff",
    b"\n- ",
    b"&a",
    b"*a",
    b"!!",
    b" in ",
    b"notin",
    b"!=",
    b"(",
    b")",
    b"~1",
    b"/-",
    b"self.",
    b"&&",
    b"x-kubernetes-validations",
];

/// Makes inputs.
pub(crate) struct Mutator {
    state: u64,
    corpus: Vec<Vec<u8>>,
}

impl Mutator {
    pub(crate) fn new(seed: u64, corpus: &[&[u8]]) -> Self {
        Self {
            state: seed,
            corpus: corpus.iter().map(|input| input.to_vec()).collect(),
        }
    }

    /// A member of the corpus with a few changes.
    pub(crate) fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.pick();
        for _ in 0..=self.below(6) {
            self.change(&mut input);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let end = at + self.below(input.len() - at + 1).min(40);
        match self.below(6) {
            0 => input.truncate(at),
            1 => {
                input.drain(at..end);
            }
            2 => {
                let word = WORDS[self.below(WORDS.len())];
                input.splice(at..at, word.iter().copied());
            }
            3 => {
                let part = input[at..end].to_vec();
                for _ in 0..self.below(20) {
                    input.splice(at..at, part.iter().copied());
                }
            }
            4 => {
                let other = self.pick();
                let from = self.below(other.len() + 1);
                input.splice(at..end, other[from..].iter().copied());
            }
            _ => {
                let byte = u8::try_from(self.below(256)).unwrap();
                if let Some(place) = input.get_mut(at) {
                    *place = byte;
                }
            }
        }
    }

    fn pick(&mut self) -> Vec<u8> {
        let index = self.below(self.corpus.len());
        self.corpus[index].clone()
    }

    /// splitmix64.
    fn below(&mut self, bound: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % u64::try_from(bound.max(1)).unwrap()).unwrap()
    }
}
