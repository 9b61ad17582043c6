use std::io::Read;

use http_body_util::BodyExt;
use serde_json::{Value, json};

use crate::client::{CONFIG_MAPS, Client, MERGE, config_map};

fn names(list: &Value) -> Vec<&str> {
    list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_moment_whatever_is_written_in_between() {
    let client = Client::new();
    for name in ["a", "b", "c"] {
        client.config_map(name, json!({})).await;
    }
    let first = client.get(&format!("{CONFIG_MAPS}?limit=1")).await.body;
    assert_eq!(
        (names(&first), &first["metadata"]["remainingItemCount"]),
        (vec!["a"], &json!(2))
    );
    client.config_map("b2", json!({})).await;
    client.delete(&config_map("c")).await;
    let token = first["metadata"]["continue"].as_str().unwrap();
    let rest = client.get(&format!("{CONFIG_MAPS}?continue={token}")).await.body;
    assert_eq!(names(&rest), ["b", "c"]);
    assert_eq!(
        rest["metadata"]["resourceVersion"],
        first["metadata"]["resourceVersion"]
    );
}

#[tokio::test(start_paused = true)]
async fn an_expired_page_comes_with_a_token_that_goes_on() {
    let client = Client::new();
    for name in ["a", "b", "c"] {
        client.config_map(name, json!({})).await;
    }
    let first = client.get(&format!("{CONFIG_MAPS}?limit=1")).await.body;
    client.config_map("d", json!({})).await;
    client.server.compact();
    let token = first["metadata"]["continue"].as_str().unwrap();
    let expired = client.get(&format!("{CONFIG_MAPS}?continue={token}")).await;
    assert_eq!(
        (expired.code.as_u16(), &expired.body["reason"]),
        (410, &json!("Expired"))
    );
    let token = expired.body["metadata"]["continue"].as_str().unwrap();
    let rest = client.get(&format!("{CONFIG_MAPS}?continue={token}")).await.body;
    assert_eq!(names(&rest), ["b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn an_exact_list_shows_the_past() {
    let client = Client::new();
    let a = client.config_map("a", json!({ "k": "1" })).await.body;
    client.config_map("b", json!({})).await;
    client
        .patch(&config_map("a"), MERGE, &json!({ "data": { "k": "2" } }))
        .await;
    client.delete(&config_map("b")).await;
    let then = a["metadata"]["resourceVersion"].as_str().unwrap();
    let path = format!("{CONFIG_MAPS}?resourceVersion={then}&resourceVersionMatch=Exact");
    let list = client.get(&path).await.body;
    assert_eq!(names(&list), ["a"]);
    assert_eq!(list["items"][0]["data"]["k"], "1");
}

#[tokio::test(start_paused = true)]
async fn a_future_revision_is_waited_for_and_then_refused() {
    let client = Client::new();
    let started = tokio::time::Instant::now();
    let answer = client.get(&format!("{CONFIG_MAPS}?resourceVersion=999999")).await;
    assert_eq!(
        (answer.code.as_u16(), &answer.body["details"]["retryAfterSeconds"]),
        (504, &json!(1))
    );
    assert_eq!(started.elapsed().as_secs(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_large_list_is_one_valid_document() {
    let client = Client::new();
    for index in 0..40 {
        client
            .config_map(&format!("c{index:02}"), json!({ "k": "x".repeat(8 * 1024) }))
            .await;
    }
    let list = client.get(CONFIG_MAPS).await;
    assert!(list.text.len() > 300_000);
    assert_eq!(names(&list.body).len(), 40);
    assert!(list.body["items"][0]["kind"].is_null());
}

#[tokio::test(start_paused = true)]
async fn a_long_list_is_the_same_compressed_and_plain() {
    let client = Client::new();
    for index in 0..60 {
        let filler = format!("{index}").repeat(3000);
        client
            .config_map(&format!("long-{index}"), json!({ "k": filler }))
            .await;
    }
    let plain = client.get(CONFIG_MAPS).await;
    let mut request = Client::request("GET", CONFIG_MAPS, "", &Value::Null);
    request.headers_mut().insert("Accept-Encoding", "gzip".parse().unwrap());
    let response = client.open(request).await;
    assert_eq!(response.headers()["Content-Encoding"], "gzip");
    let packed = response.into_body().collect().await.unwrap().to_bytes();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&*packed)
        .read_to_string(&mut text)
        .unwrap();
    assert!(plain.text.len() > 200_000 && packed.len() < plain.text.len() / 10);
    assert_eq!(text, plain.text);
}
