use super::*;

fn app() -> Kind {
    Kind::new("demo.dev", "v1", "App", "apps", true)
}

fn key() -> ObjectKey {
    ObjectKey::new("shop", "web")
}

fn target(verb: &'static str) -> Target {
    Target::object(verb, &app(), &key(), None)
}

fn object(uid: &str, version: &str) -> Bytes {
    object_with(uid, version, "")
}

fn object_with(uid: &str, version: &str, more: &str) -> Bytes {
    format!(
        r#"{{"apiVersion":"demo.dev/v1","kind":"App","metadata":{{"name":"web","namespace":"shop","uid":"{uid}","resourceVersion":"{version}"{more}}},"spec":{{}}}}"#
    )
    .into()
}

fn version(text: &str) -> Version {
    Version::parse(text)
}

fn holds_none() -> Holds {
    Arc::new(|_| None)
}

fn held(overlay: &Overlay) -> String {
    match overlay.get(&app(), &key()) {
        None => "nothing".to_owned(),
        Some(Entry::Object(cached)) => format!("version {}", cached.header().version),
        Some(Entry::Deleted(gone)) => format!("deleted {}", gone.uids.join(" ")),
        Some(Entry::InDoubt) => "in doubt".to_owned(),
    }
}

#[test]
fn a_write_is_held_until_every_informer_has_reached_its_version() {
    let overlay = Overlay::new();
    let one = overlay.join(&app(), None, holds_none()).id();
    let two = overlay.join(&app(), Some("shop".into()), holds_none()).id();
    let elsewhere = overlay.join(&app(), Some("other".into()), holds_none()).id();
    overlay.advance(&app(), two, &version("5"));
    overlay.written(&target("patch"), &object("u", "7"));
    assert_eq!(held(&overlay), "version 7");
    overlay.advance(&app(), one, &version("9"));
    assert!(overlay.get_for(one, &app(), &key()).is_none());
    assert!(overlay.get_for(two, &app(), &key()).is_some());
    assert!(overlay.get_for(elsewhere, &app(), &key()).is_none());
    overlay.advance(&app(), two, &version("7"));
    assert!(overlay.is_empty());
}

#[test]
fn a_write_that_the_watch_delivered_before_its_answer_is_not_held() {
    let overlay = Overlay::new();
    let scope = overlay.join(&app(), None, holds_none()).id();
    overlay.advance(&app(), scope, &version("7"));
    overlay.written(&target("patch"), &object("u", "7"));
    assert!(overlay.is_empty());
}

#[test]
fn without_an_informer_nothing_is_held() {
    let overlay = Overlay::new();
    overlay.written(&target("patch"), &object("u", "7"));
    overlay.doubt(&target("patch"));
    assert!(overlay.is_empty());
}

#[test]
fn answers_that_arrive_in_another_order_leave_the_newest() {
    let overlay = Overlay::new();
    overlay.join(&app(), None, holds_none());
    overlay.written(&target("patch"), &object("u", "8"));
    overlay.written(&target("patch"), &object("u", "7"));
    assert_eq!(held(&overlay), "version 8");
}

#[test]
fn a_deletion_is_held_until_its_uid_is_seen_to_go() {
    let overlay = Overlay::new();
    let scope = overlay.join(&app(), None, holds_none()).id();
    overlay.written(&target("patch"), &object("u", "7"));
    let answer = Bytes::from_static(br#"{"kind":"Status","status":"Success","details":{"name":"web","uid":"u"}}"#);
    overlay.written(&target("delete"), &answer);
    assert_eq!(held(&overlay), "deleted u");
    overlay.advance(&app(), scope, &version("7"));
    assert_eq!(
        held(&overlay),
        "deleted u",
        "the version of the write before settles nothing"
    );
    overlay.seen(&app(), scope, &key(), "other", &version("8"), true);
    assert_eq!(held(&overlay), "deleted u");
    overlay.seen(&app(), scope, &key(), "u", &version("9"), true);
    assert!(overlay.is_empty());
}

#[test]
fn a_deletion_outside_the_scope_leaves_once_a_later_version_is_reached() {
    let overlay = Overlay::new();
    let scope = overlay.join(&app(), None, holds_none()).id();
    overlay.written(&target("delete"), &object("u", "7"));
    assert!(overlay.has_unbounded(&app(), scope));
    let begun = overlay.moment();
    overlay.bound(&app(), begun, &version("12"));
    assert!(!overlay.has_unbounded(&app(), scope));
    overlay.advance(&app(), scope, &version("11"));
    assert_eq!(held(&overlay), "deleted u");
    overlay.advance(&app(), scope, &version("12"));
    assert!(overlay.is_empty());
}

#[test]
fn a_list_settles_deletions_that_were_answered_before_it_began() {
    let overlay = Overlay::new();
    let scope = overlay.join(&app(), None, holds_none()).id();
    let early = overlay.moment();
    overlay.written(&target("delete"), &object("u", "7"));
    overlay.listed(&app(), scope, early, &version("20"));
    assert_eq!(held(&overlay), "deleted u");
    let late = overlay.moment();
    overlay.listed(&app(), scope, late, &version("21"));
    assert!(overlay.is_empty());
}

#[test]
fn a_deletion_that_waits_for_finalizers_is_the_deleting_object() {
    let overlay = Overlay::new();
    overlay.join(&app(), None, holds_none());
    let deleting = r#","deletionTimestamp":"2026-01-01T00:00:00Z","finalizers":["x"]"#;
    overlay.written(&target("delete"), &object_with("u", "7", deleting));
    assert_eq!(held(&overlay), "version 7");
    let last = r#","deletionTimestamp":"2026-01-01T00:00:00Z""#;
    overlay.written(&target("patch"), &object_with("u", "8", last));
    assert_eq!(
        held(&overlay),
        "deleted u",
        "the patch that removes the last finalizer deletes"
    );
}

#[test]
fn a_doubt_is_settled_by_a_read_begun_after_it() {
    let overlay = Overlay::new();
    overlay.join(&app(), None, Arc::new(|_| Some("u".into())));
    let before = overlay.ask(&app(), &key());
    overlay.doubt(&target("patch"));
    assert_eq!(held(&overlay), "in doubt");
    overlay.resolve(&app(), &key(), before, Some(&object("u", "9")));
    assert_eq!(
        held(&overlay),
        "in doubt",
        "a read from before the doubt proves nothing"
    );
    let asked = overlay.ask(&app(), &key());
    overlay.resolve(&app(), &key(), asked, Some(&object("u", "9")));
    assert_eq!(held(&overlay), "version 9");
    overlay.doubt(&target("delete"));
    let asked = overlay.ask(&app(), &key());
    overlay.resolve(&app(), &key(), asked, None);
    assert_eq!(held(&overlay), "deleted u", "the informer still holds it");
}

#[test]
fn a_deletion_hides_what_an_informer_far_behind_still_holds_and_not_what_comes_after() {
    let overlay = Overlay::new();
    overlay.join(&app(), None, Arc::new(|_| Some("old".into())));
    overlay.written(&target("create"), &object("new", "9"));
    let answer = Bytes::from_static(br#"{"kind":"Status","status":"Success","details":{"name":"web","uid":"new"}}"#);
    overlay.written(&target("delete"), &answer);
    let Some(Entry::Deleted(gone)) = overlay.get(&app(), &key()) else {
        panic!("{}", held(&overlay));
    };
    let hides = |uid, version| {
        let cached = overlay.scan(&app(), &object(uid, version)).expect("valid");
        gone.hides(cached.header())
    };
    assert!(hides("new", "9") && hides("old", "3"));
    assert!(!hides("recreated", "12"));
}

#[test]
fn a_deletion_that_may_be_older_than_what_an_informer_holds_is_asked_about() {
    let overlay = Overlay::new();
    overlay.join(&app(), None, Arc::new(|_| Some("another".into())));
    let answer = Bytes::from_static(br#"{"kind":"Status","status":"Success","details":{"name":"web","uid":"u"}}"#);
    overlay.written(&target("delete"), &answer);
    assert_eq!(held(&overlay), "in doubt");
}

#[test]
fn an_object_in_another_api_version_is_only_known_to_the_server() {
    let overlay = Overlay::new();
    overlay.join(&app(), None, holds_none());
    overlay.written(&target("patch"), &object("u", "7"));
    let beta = Kind::new("demo.dev", "v1beta1", "App", "apps", true);
    assert!(matches!(overlay.get(&beta, &key()), Some(Entry::InDoubt)));
}

#[tokio::test(start_paused = true)]
async fn where_versions_are_not_ordered_a_write_waits_for_its_event_and_not_for_ever() {
    let overlay = Overlay::new();
    let scope = overlay.join(&app(), None, holds_none()).id();
    overlay.written(&target("patch"), &object("u", "abc"));
    overlay.advance(&app(), scope, &version("abd"));
    assert_eq!(held(&overlay), "version abc");
    overlay.seen(&app(), scope, &key(), "u", &version("abc"), false);
    assert!(overlay.is_empty());
    overlay.written(&target("patch"), &object("u", "abe"));
    tokio::time::advance(std::time::Duration::from_secs(61)).await;
    assert_eq!(held(&overlay), "nothing");
}

#[test]
fn after_a_restore_to_an_earlier_version_nothing_is_waited_for() {
    let overlay = Overlay::new();
    let scope = overlay.join(&app(), None, holds_none()).id();
    overlay.advance(&app(), scope, &version("100"));
    overlay.written(&target("patch"), &object("u", "107"));
    let begun = overlay.moment();
    overlay.listed(&app(), scope, begun, &version("50"));
    assert!(overlay.is_empty());
}
