//! Lines of a streamed answer, as slices of the chunks that came.

use std::fmt;
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use memchr::memchr;

use crate::client::{AnswerBody, ClientError, Target};

/// A line longer than this is no event: the largest object that etcd takes is 1.5 MB by default.
const LONGEST: usize = 64 << 20;

/// The lines of an answer. A line that lies within one chunk is not copied.
pub struct Frames {
    target: Target,
    body: AnswerBody,
    chunk: Bytes,
    partial: BytesMut,
    ended: bool,
    timeout: Option<Duration>,
}

impl Frames {
    pub(crate) fn new(target: Target, body: AnswerBody) -> Self {
        Self {
            target,
            body,
            chunk: Bytes::new(),
            partial: BytesMut::new(),
            ended: false,
            timeout: None,
        }
    }

    /// Notes when the server was asked to end the answer.
    pub(crate) fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// When the server was asked to end the answer.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// What was asked for.
    #[must_use]
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// The next line without its end; `None` when the server ended the answer.
    ///
    /// # Errors
    ///
    /// The connection broke.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Result<Bytes, ClientError>> {
        loop {
            if let Some(line) = self.line() {
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                return Some(Ok(line));
            }
            if self.ended {
                return None;
            }
            if self.partial.len() > LONGEST {
                self.ended = true;
                return Some(Err(self.broken(format!("a line longer than {LONGEST} bytes"))));
            }
            match self.body.frame().await {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.chunk = data;
                    }
                }
                Some(Err(error)) => {
                    self.ended = true;
                    return Some(Err(self.broken(error.to_string())));
                }
                None => {
                    self.ended = true;
                    // A last line without its end was cut off.
                    self.partial.clear();
                }
            }
        }
    }

    fn line(&mut self) -> Option<Bytes> {
        if self.chunk.is_empty() {
            return None;
        }
        let Some(end) = memchr(b'\n', &self.chunk) else {
            self.partial.extend_from_slice(&self.chunk);
            self.chunk.clear();
            return None;
        };
        let mut line = self.chunk.split_to(end);
        self.chunk.advance(1);
        if !self.partial.is_empty() {
            self.partial.extend_from_slice(&line);
            line = self.partial.split().freeze();
        }
        Some(line)
    }

    fn broken(&self, cause: String) -> ClientError {
        ClientError::Timeout {
            target: Box::new(self.target.clone()),
            after: Duration::ZERO,
            cause: Some(cause),
            outcome_unknown: false,
        }
    }
}

impl fmt::Debug for Frames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Frames")
            .field("target", &format_args!("{}", self.target))
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;

    fn frames(chunks: &[&'static str]) -> Frames {
        let chunks: Vec<_> = chunks
            .iter()
            .map(|chunk| Ok(http_body::Frame::data(Bytes::from_static(chunk.as_bytes()))))
            .collect();
        let body = http_body_util::StreamBody::new(futures::stream::iter(chunks));
        let target = Target::collection("watch", &Kind::new("", "v1", "Pod", "pods", true), None);
        Frames::new(target, body.boxed_unsync())
    }

    async fn lines(chunks: &[&'static str]) -> Vec<String> {
        let mut frames = frames(chunks);
        let mut lines = Vec::new();
        while let Some(line) = frames.next().await {
            lines.push(String::from_utf8(line.expect("unbroken").to_vec()).expect("text"));
        }
        lines
    }

    #[tokio::test]
    async fn lines_are_the_same_however_they_are_cut_into_chunks() {
        for chunks in [
            &["a\nbb\nccc\n"][..],
            &["a", "\nb", "b\n", "ccc", "\n"],
            &["a\n\nbb\n", "c", "c", "c\n"],
        ] {
            assert_eq!(lines(chunks).await, ["a", "bb", "ccc"]);
        }
    }

    #[tokio::test]
    async fn a_line_that_was_cut_off_is_not_delivered() {
        assert_eq!(lines(&["a\nbb"]).await, ["a"]);
    }
}
