//! Bodies of answers: whole, or a stream of frames.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

type Frames = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The body of an answer.
pub struct Body(Inner);

enum Inner {
    Whole(Bytes),
    Frames(Frames),
}

impl Body {
    /// A body without content.
    #[must_use]
    pub fn empty() -> Self {
        Self(Inner::Whole(Bytes::new()))
    }

    /// A body that is known whole.
    pub fn whole(bytes: impl Into<Bytes>) -> Self {
        Self(Inner::Whole(bytes.into()))
    }

    /// A body that comes piece by piece; each item goes out as soon as it is there.
    pub fn frames(frames: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Inner::Frames(Box::pin(frames)))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Whole(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Inner::Frames(_) => write!(f, "Body(stream)"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Inner::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Inner::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Inner::Frames(frames) => frames
                .as_mut()
                .poll_next(cx)
                .map(|next| next.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Inner::Frames(_) => SizeHint::default(),
        }
    }
}
