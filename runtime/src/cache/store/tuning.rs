//! When a kind is compressed, and under which dictionary.
//!
//! A kind is compressed once its bodies take a megabyte; below that a dictionary costs more than it saves. A kind that
//! gains too little is left as it is, and tried again when it has grown eightfold. A dictionary is replaced when
//! objects have changed so much that the ratio has halved.

use std::sync::Arc;

use super::codec::{Codec, Contexts};
use super::packed::{self, Stored};
use super::{InUse, Store};

const SMALLEST_KIND: usize = 1 << 20;
const TRIED_AGAIN: usize = 8;
const SAMPLES: usize = 100;
/// Of a body's length, in percent: what a dictionary must save to be worth its work.
const WORTHWHILE: usize = 10;
/// Bodies since the dictionary was made before its ratio is judged.
const JUDGED_AFTER: u32 = 1024;

/// Compresses the bodies of one store, outside of the store's lock.
#[derive(Debug)]
pub(crate) struct Encoder {
    contexts: Arc<Contexts>,
    current: Option<(u8, Arc<Codec>)>,
    out: Vec<u8>,
    compressed: bool,
    /// Part of their length that bodies take: when the dictionary was made, and of late.
    base: f32,
    recent: f32,
    judged: u32,
    /// The kind is tried when its plain bodies take this much; never where `None`.
    try_at: Option<usize>,
}

/// What the store needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tuning {
    /// Nothing.
    Fits,
    /// A dictionary from what is stored now.
    Learn,
}

impl Encoder {
    pub(crate) fn new(contexts: Arc<Contexts>, compress: bool) -> Self {
        Self {
            contexts,
            current: None,
            out: Vec::new(),
            compressed: false,
            base: 1.0,
            recent: 1.0,
            judged: 0,
            try_at: compress.then_some(SMALLEST_KIND),
        }
    }

    /// Compresses a body for [`Store::insert`].
    pub(crate) fn encode(&mut self, body: &[u8]) {
        self.compressed = false;
        let Some((_, codec)) = &self.current else { return };
        if !self.contexts.compress(codec, body, &mut self.out) {
            return;
        }
        let part = part(self.out.len(), body.len());
        self.recent += (part - self.recent) / 64.0;
        self.judged = self.judged.saturating_add(1);
        // One that does not shrink is not worth the way back.
        self.compressed = self.out.len() * 20 < body.len() * 19;
    }

    /// The body that was encoded last.
    pub(super) fn stored<'a>(&'a self, body: &'a [u8]) -> Stored<'a> {
        match &self.current {
            Some((id, _)) if self.compressed => Stored {
                codec: Some(*id),
                length: body.len(),
                bytes: &self.out,
            },
            _ => Stored {
                codec: None,
                length: body.len(),
                bytes: body,
            },
        }
    }

    /// What the store needs after the last insertion.
    pub(crate) fn judge(&self, store: &Store) -> Tuning {
        let decayed = self.current.is_some() && self.judged >= JUDGED_AFTER && self.recent > self.base * 2.0;
        let grown = self.current.is_none() && self.try_at.is_some_and(|at| store.plain >= at);
        if decayed || grown { Tuning::Learn } else { Tuning::Fits }
    }

    /// Makes a dictionary from samples. `None` where the kind gains too little by one.
    pub(crate) fn learn(&mut self, samples: &[Vec<u8>]) -> Option<Arc<Codec>> {
        let codec = Codec::learn(samples);
        let (mut before, mut after) = (0, 0);
        for sample in samples {
            before += sample.len();
            after += if self.contexts.compress(&codec, sample, &mut self.out) {
                self.out.len()
            } else {
                sample.len()
            };
        }
        self.base = part(after, before);
        self.recent = self.base;
        self.judged = 0;
        if after * 100 > before * (100 - WORTHWHILE) {
            self.try_at = self.try_at.map(|at| at.saturating_mul(TRIED_AGAIN));
            return None;
        }
        Some(Arc::new(codec))
    }

    /// From now on bodies are under this codec.
    pub(crate) fn take_up(&mut self, id: u8, codec: Arc<Codec>) {
        self.current = Some((id, codec));
    }
}

impl Store {
    /// Bodies from all over the store.
    pub(crate) fn samples(&self) -> Vec<Vec<u8>> {
        let slots = self.all(None);
        let step = slots.len().div_ceil(SAMPLES).max(1);
        let chosen = slots.iter().step_by(step);
        chosen
            .map(|slot| self.record(*slot).body().read_folded(<[u8]>::to_vec))
            .collect()
    }

    /// Takes up a codec. What was plain before the first one is put under it at once, what is under an older one when it
    /// moves.
    /// `None` where there are too many codecs already.
    pub(crate) fn take_up(&mut self, codec: Arc<Codec>) -> Option<u8> {
        let at = match self.codecs.iter().position(Option::is_none) {
            Some(free) => free,
            None => {
                self.codecs.push(None);
                self.codecs.len() - 1
            }
        };
        let id = u8::try_from(at).ok()?;
        self.codecs[at] = Some(InUse { codec, bodies: 0 });
        match self.current.replace(id) {
            // What is under an older codec is left until it moves: all at once would hold up every reader.
            Some(before) => {
                let unused = self.codecs[usize::from(before)].as_ref();
                if unused.is_some_and(|used| used.bodies == 0) {
                    self.codecs[usize::from(before)] = None;
                }
            }
            None => {
                for page in self.pages.all() {
                    self.evacuate(page);
                }
            }
        }
        Some(id)
    }

    pub(super) fn codec(&self, id: u8) -> &Arc<Codec> {
        let used = self.codecs[usize::from(id)].as_ref();
        &used.expect("a codec is kept for as long as a body is under it").codec
    }

    /// Moves what lives in a page to others, and under the current codec where it is not.
    pub(super) fn evacuate(&mut self, page: u32) {
        let mut emptied = self.pages.empty(page);
        let (mut blob, mut out) = (Vec::new(), Vec::new());
        while let Some((slot, old)) = emptied.next() {
            let body = packed::body(old);
            let id = self.current.filter(|current| body.codec != Some(*current));
            let moved = match id.and_then(|id| self.recode(id, body, &mut out)) {
                Some(stored) => {
                    let (codec, length) = (body.codec, body.bytes.len());
                    packed::with_body(&mut blob, old, stored);
                    self.count(codec, length, false);
                    self.count(stored.codec, stored.bytes.len(), true);
                    self.pages.store(slot, &mut blob)
                }
                None => {
                    let length = packed::length(old);
                    self.pages.store(slot, &mut old[..length])
                }
            };
            self.slots[slot as usize].place = moved;
        }
    }

    fn recode<'a>(&self, id: u8, body: Stored<'_>, out: &'a mut Vec<u8>) -> Option<Stored<'a>> {
        let codec = self.codec(id);
        let mut again = |json: &[u8]| self.contexts.compress(codec, json, out) && out.len() * 20 < json.len() * 19;
        let shrunk = match body.codec {
            None => again(body.bytes),
            Some(old) => {
                // The decompressor is handed out while the compressor is asked for: two pools.
                self.contexts
                    .decompress(self.codec(old), body.bytes, body.length, &mut again)
            }
        };
        shrunk.then_some(Stored {
            codec: Some(id),
            length: body.length,
            bytes: out,
        })
    }
}

#[allow(clippy::cast_precision_loss, reason = "a ratio")]
fn part(of: usize, whole: usize) -> f32 {
    of as f32 / whole.max(1) as f32
}
