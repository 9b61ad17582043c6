//! Bodies of answers: whole, or a stream of frames that may break off.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};

use super::life::Life;

type Frames = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;
type End = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The body of an answer.
pub struct Body(Inner);

enum Inner {
    Whole(Bytes),
    Frames(Frames, Option<Line>),
    Broken,
}

/// What a streamed answer comes through: the life of the server that sends it.
struct Line {
    life: Life,
    over: End,
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

    /// A body that comes piece by piece; each item goes out as soon as it is there. An error breaks the connection.
    pub fn frames(frames: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Self {
        Self(Inner::Frames(Box::pin(frames), None))
    }

    /// Breaks off when the server dies, where it is not sent whole.
    pub(crate) fn within(self, life: Life) -> Self {
        match self.0 {
            Inner::Frames(frames, _) => {
                let over = Box::pin(life.clone().over());
                Self(Inner::Frames(frames, Some(Line { life, over })))
            }
            whole => Self(whole),
        }
    }
}

impl Line {
    fn poll_broken(&mut self, cx: &mut Context<'_>, next_is_there: bool) -> bool {
        // While events come there is no need to register for the end again and again.
        if next_is_there {
            self.life.is_over()
        } else {
            self.over.as_mut().poll(cx).is_ready()
        }
    }
}

/// The error of a connection that the other side broke.
pub(crate) fn reset() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionReset, "connection reset by peer")
}

/// The error where nobody listens.
pub(crate) fn refused() -> io::Error {
    io::Error::new(io::ErrorKind::ConnectionRefused, "connection refused")
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Whole(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Inner::Frames(..) => write!(f, "Body(stream)"),
            Inner::Broken => write!(f, "Body(broken)"),
        }
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut self.0 {
            Inner::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Inner::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Inner::Frames(frames, line) => {
                let next = frames.as_mut().poll_next(cx);
                if let Some(line) = line
                    && line.poll_broken(cx, next.is_ready())
                {
                    self.0 = Inner::Broken;
                    return Poll::Ready(Some(Err(reset())));
                }
                next.map(|next| next.map(|bytes| bytes.map(Frame::data)))
            }
            Inner::Broken => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Inner::Frames(..) | Inner::Broken => SizeHint::default(),
        }
    }
}
