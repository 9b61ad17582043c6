//! Who is told of what the server does.

use std::sync::{Arc, Mutex};

use futures::StreamExt;
use http_body_util::BodyExt;
use kubewright_apiserver::http::log::{Caller, EventRecord, Observer, RequestRecord, WriteRecord};
use serde_json::json;

use crate::client::{CONFIG_MAPS, Client, config_map};

#[derive(Default)]
struct Notes(Mutex<Vec<String>>);

impl Notes {
    fn add(&self, note: String) {
        self.0.lock().unwrap().push(note);
    }
}

impl Observer for Notes {
    fn wrote(&self, write: &WriteRecord) {
        let what = match (&write.old, &write.new) {
            (None, Some(new)) => format!("made {}", new.key.name),
            (Some(old), None) => format!("removed {}", old.key.name),
            _ => "changed".to_owned(),
        };
        self.add(format!("{} {what}", write.request));
    }

    fn answered(&self, request: &RequestRecord) {
        let caller = request.caller.as_ref().map(ToString::to_string).unwrap_or_default();
        self.add(format!("{} {caller} {} {}", request.id, request.verb, request.code));
    }

    fn delivered(&self, event: &EventRecord<'_>) {
        let name = event.key.map(|key| key.name.to_string()).unwrap_or_default();
        let caller = event.caller.map(ToString::to_string).unwrap_or_default();
        self.add(format!("{caller} {} {} {name}", event.kind, event.resource.plural));
    }
}

#[tokio::test(start_paused = true)]
async fn an_observer_hears_of_writes_answers_and_events_with_the_caller_in_order() {
    let client = Client::new();
    let notes = Arc::new(Notes::default());
    client.server.observe(notes.clone());
    let as_a = |mut request: http::Request<_>| {
        request.extensions_mut().insert(Caller::new("a"));
        request
    };
    let path = format!("{CONFIG_MAPS}?watch=true");
    let watch = client.open(as_a(Client::request("GET", &path, "", &json!(null)))).await;
    let mut events = watch.into_body().into_data_stream();
    client
        .send(as_a(Client::request(
            "POST",
            CONFIG_MAPS,
            "application/json",
            &json!({ "metadata": { "name": "m" } }),
        )))
        .await;
    // Nobody has read the event yet.
    assert_eq!(notes.0.lock().unwrap().last().unwrap(), "2 a create 201");
    events.next().await.unwrap().unwrap();
    client
        .send(Client::request("DELETE", &config_map("m"), "", &json!(null)))
        .await;
    assert_eq!(
        *notes.0.lock().unwrap(),
        [
            "1 a watch 200",
            "2 made m",
            "2 a create 201",
            "a ADDED configmaps m",
            "3 removed m",
            "3  delete 200",
        ]
    );
}
