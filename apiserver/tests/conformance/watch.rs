//! An open watch: a task reads its lines, the case takes them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http_body_util::BodyExt as _;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::client::{Answer, decode};
use crate::json::Json;

/// A watch that is being read.
pub(crate) struct Watch {
    state: Arc<State>,
    reader: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    lines: Mutex<(Vec<Json>, bool)>,
    news: Notify,
}

impl Watch {
    /// Starts to read the answer of a watch.
    pub(crate) fn start(answer: Answer) -> Self {
        let state = Arc::new(State::default());
        let reader = tokio::spawn(read(answer, Arc::clone(&state)));
        Self { state, reader }
    }

    /// The next events, and whether the watch has ended: `count` of them, or with none all until it ends.
    pub(crate) async fn take(&self, count: Option<usize>, within: Duration) -> (Vec<Json>, bool) {
        let wait = async {
            loop {
                let news = self.state.news.notified();
                {
                    let lines = self.state.lines.lock().unwrap_or_else(PoisonError::into_inner);
                    if lines.1 || count.is_some_and(|count| lines.0.len() >= count) {
                        return;
                    }
                }
                news.await;
            }
        };
        // Whatever has come until the time is up is taken.
        let _ = tokio::time::timeout(within, wait).await;
        let mut lines = self.state.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let end = count.unwrap_or(usize::MAX).min(lines.0.len());
        let taken = lines.0.drain(..end).collect();
        (taken, lines.1)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

async fn read(mut answer: Answer, state: Arc<State>) {
    let push = |line: Json| {
        state.lines.lock().unwrap_or_else(PoisonError::into_inner).0.push(line);
        state.news.notify_one();
    };
    if answer.status == 200 {
        let mut buffer = Vec::new();
        while let Some(Ok(frame)) = answer.body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            buffer.extend_from_slice(&data);
            while let Some(end) = buffer.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = buffer.drain(..=end).collect();
                if let Some(event) = Json::parse(&line) {
                    push(event);
                }
            }
        }
    } else {
        let content_type = answer.content_type().to_owned();
        if let Ok(body) = answer.body.collect().await {
            push(decode(&body.to_bytes(), &content_type));
        }
    }
    state.lines.lock().unwrap_or_else(PoisonError::into_inner).1 = true;
    state.news.notify_one();
}
