//! Bodies under a dictionary of their kind.
//!
//! A fresh compressor for each call costs three times the work, so contexts are kept, as many as were ever used at
//! once. A dictionary is prepared once for both directions.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use zstd_safe::{CCtx, CDict, DCtx, DDict};

const LEVEL: i32 = 1;
const DICTIONARY: usize = 16 << 10;
/// From fewer samples no dictionary can be trained; their content serves as one.
const FEWEST_SAMPLES: usize = 16;
/// More text than this makes a training longer and the dictionary no better.
const MOST_TO_LEARN: usize = 1 << 20;

/// A dictionary, prepared for both directions.
pub(crate) struct Codec {
    compress: CDict<'static>,
    decompress: DDict<'static>,
    bytes: usize,
}

impl Codec {
    /// A codec for objects such as these.
    pub(crate) fn learn(samples: &[Vec<u8>]) -> Self {
        let mut dictionary = Vec::new();
        if samples.len() >= FEWEST_SAMPLES {
            dictionary = train(samples);
        }
        if dictionary.is_empty() {
            for sample in samples {
                let room = DICTIONARY - dictionary.len();
                dictionary.extend_from_slice(&sample[..sample.len().min(room)]);
            }
        }
        Self {
            compress: CDict::create(&dictionary, LEVEL),
            decompress: DDict::create(&dictionary),
            bytes: dictionary.len(),
        }
    }
}

/// A dictionary from samples; empty where nothing is to be learned from them.
fn train(samples: &[Vec<u8>]) -> Vec<u8> {
    let mut text = Vec::new();
    let mut sizes = Vec::new();
    let share = MOST_TO_LEARN / samples.len();
    for sample in samples {
        let sample = &sample[..sample.len().min(share)];
        text.extend_from_slice(sample);
        sizes.push(sample.len());
    }
    let mut dictionary = Vec::with_capacity(DICTIONARY);
    match zstd_safe::train_from_buffer(&mut dictionary, &text, &sizes) {
        Ok(_) => {
            // Its number, which each frame would repeat: there is never a doubt which dictionary a body is under.
            if let Some(number) = dictionary.get_mut(4..8) {
                number.fill(0);
            }
            dictionary
        }
        Err(_) => Vec::new(),
    }
}

impl fmt::Debug for Codec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Codec").field("dictionary", &self.bytes).finish()
    }
}

/// Contexts and buffers for both directions, shared by all stores of a manager.
#[derive(Default)]
pub(crate) struct Contexts {
    compress: Mutex<Vec<CCtx<'static>>>,
    decompress: Mutex<Vec<Decompressor>>,
}

/// A context and the buffer that it writes to.
pub(crate) struct Decompressor {
    context: DCtx<'static>,
    pub(crate) text: Vec<u8>,
}

/// A body longer than this does not leave its buffer behind.
const LARGEST_KEPT: usize = 256 << 10;

impl Contexts {
    /// Writes `body`, compressed, to `out`; false where it could not be.
    pub(crate) fn compress(&self, codec: &Codec, body: &[u8], out: &mut Vec<u8>) -> bool {
        let kept = lock(&self.compress).pop();
        let mut context = kept.unwrap_or_else(CCtx::create);
        out.clear();
        out.reserve(zstd_safe::compress_bound(body.len()));
        let done = context.compress_using_cdict(out, body, &codec.compress).is_ok();
        lock(&self.compress).push(context);
        done
    }

    /// Hands a body, which is `length` bytes long, to `read`.
    pub(crate) fn decompress<T>(
        &self,
        codec: &Codec,
        stored: &[u8],
        length: usize,
        read: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let kept = lock(&self.decompress).pop();
        let mut decompressor = kept.unwrap_or_else(|| Decompressor {
            context: DCtx::create(),
            text: Vec::new(),
        });
        decompressor.text.clear();
        decompressor.text.reserve(length);
        let Decompressor { context, text } = &mut decompressor;
        context
            .decompress_using_ddict(text, stored, &codec.decompress)
            .expect("a body is read back with the codec that wrote it");
        let read = read(text);
        if decompressor.text.capacity() <= LARGEST_KEPT {
            lock(&self.decompress).push(decompressor);
        }
        read
    }
}

impl fmt::Debug for Contexts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Contexts")
            .field("compress", &lock(&self.compress).len())
            .field("decompress", &lock(&self.decompress).len())
            .finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
