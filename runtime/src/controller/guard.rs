//! Calls the author's code so that a panic in it stays an error of one call.

use std::any::Any;
use std::backtrace::Backtrace;
use std::cell::RefCell;
use std::fmt;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind};
use std::pin::Pin;
use std::sync::Once;
use std::task::{Context, Poll};

/// A panic of the author's code.
#[derive(Debug)]
pub(super) struct Panic {
    pub(super) message: String,
    pub(super) location: Option<String>,
    pub(super) backtrace: Option<String>,
}

impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(location) = &self.location {
            write!(f, " (at {location})")?;
        }
        Ok(())
    }
}

/// Calls `f`; a panic becomes an error.
pub(super) fn call<T>(f: impl FnOnce() -> T) -> Result<T, Panic> {
    install_hook();
    let before = WATCHED.replace(Some(None));
    let result = catch_unwind(AssertUnwindSafe(f));
    let noted = WATCHED.replace(before).flatten();
    result.map_err(|payload| Panic {
        message: message_of(&*payload),
        location: noted.as_ref().and_then(|noted| noted.location.clone()),
        backtrace: noted.map(|noted| noted.backtrace),
    })
}

/// Polls a future; a panic in it becomes an error, after which it must not be polled again.
pub(super) struct Guarded<F>(pub(super) F);

impl<F: Future + Unpin> Future for Guarded<F> {
    type Output = Result<F::Output, Panic>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let inner = &mut self.0;
        match call(|| Pin::new(inner).poll(cx)) {
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Ok(Poll::Pending) => Poll::Pending,
            Err(panic) => Poll::Ready(Err(panic)),
        }
    }
}

/// What the hook saw of a panic.
struct Noted {
    location: Option<String>,
    backtrace: String,
}

thread_local! {
    /// Set while the author's code is called on this thread.
    static WATCHED: RefCell<Option<Option<Noted>>> = const { RefCell::new(None) };
}

/// Only a panic hook sees where a panic happened. Ours passes on every panic that is not in a guarded call, and is
/// installed once for the process.
fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info: &PanicHookInfo<'_>| {
            if !note(info) {
                before(info);
            }
        }));
    });
}

/// Keeps what is known of a panic in a guarded call. False for any other.
fn note(info: &PanicHookInfo<'_>) -> bool {
    WATCHED.with_borrow_mut(|watched| match watched {
        None => false,
        Some(slot) => {
            *slot = Some(Noted {
                location: info.location().map(ToString::to_string),
                backtrace: Backtrace::force_capture().to_string(),
            });
            true
        }
    })
}

fn message_of(payload: &(dyn Any + Send)) -> String {
    if let Some(text) = payload.downcast_ref::<&str>() {
        (*text).to_owned()
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text.clone()
    } else {
        "a panic without a message".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_becomes_an_error_with_message_place_and_backtrace() {
        let future = Box::pin(async {
            tokio::task::yield_now().await;
            panic!("no {}", "luck")
        });
        let panic = Guarded(future).await.expect_err("it panics");
        assert!(
            panic
                .to_string()
                .starts_with("no luck (at runtime/src/controller/guard.rs:"),
            "{panic}"
        );
        assert!(panic.backtrace.is_some_and(|trace| trace.contains("guard")));
    }

    #[test]
    fn nested_calls_each_see_their_own_panic() {
        let outer = call(|| {
            let inner = call(|| panic!("inner"));
            assert_eq!(inner.expect_err("it panics").message, "inner");
            panic!("outer")
        });
        assert_eq!(outer.expect_err("it panics").message, "outer");
    }
}
