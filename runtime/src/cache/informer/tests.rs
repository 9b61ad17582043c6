use std::sync::Mutex;

use super::*;
use crate::cache::{Lookup, Reader};
use crate::client::Target;
use crate::delta::DeltaCause;

fn app() -> Kind {
    Kind::new("demo.dev", "v1", "App", "apps", true)
}

fn informer_of(spec: InformerSpec, overlay: &Overlay) -> Informer {
    let env = Env::seeded(jiff::Timestamp::UNIX_EPOCH, 1);
    Informer::new(
        spec,
        KeepManagers::default(),
        &Arc::default(),
        true,
        overlay.clone(),
        &env,
    )
}

fn informer() -> (Informer, Overlay) {
    let overlay = Overlay::new();
    (informer_of(InformerSpec::all(&app()), &overlay), overlay)
}

/// `name@version` of uid `name-uid`, labelled `tier=<label>`, owned by `owner`.
fn object(name: &str, version: u64, uid: &str, label: &str, owner: &str) -> String {
    let owners = if owner.is_empty() {
        String::new()
    } else {
        format!(r#","ownerReferences":[{{"apiVersion":"v1","kind":"X","name":"x","uid":"{owner}","controller":true}}]"#)
    };
    format!(
        r#"{{"apiVersion":"demo.dev/v1","kind":"App","metadata":{{"name":"{name}","namespace":"shop","uid":"{uid}","resourceVersion":"{version}","labels":{{"tier":"{label}"}}{owners}}},"spec":{{"v":{version}}}}}"#
    )
}

fn plain(name: &str, version: u64) -> String {
    object(name, version, &format!("{name}-uid"), "front", "")
}

fn list(informer: &Informer, objects: &[String], version: u64) {
    let run = informer.begin_list();
    for object in objects {
        informer.listed(run, object.as_bytes());
    }
    informer.end_list(run, &version_of(version));
}

fn version_of(number: u64) -> Version {
    Version::parse(&number.to_string())
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

fn names(objects: &[Cached]) -> Vec<String> {
    objects.iter().map(|object| object.key().name.to_string()).collect()
}

/// What a subscriber saw, in words.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Log {
    fn on(informer: &Informer) -> Self {
        let log = Self::default();
        let lines = Arc::clone(&log.0);
        informer.subscribe(Arc::new(move |delta: &Delta| {
            let version = |header: &Option<Arc<crate::delta::Header>>| {
                header
                    .as_ref()
                    .map_or("-".to_owned(), |header| header.version.to_string())
            };
            let line = format!(
                "{} {}>{} {:?}",
                delta.key.name,
                version(&delta.old),
                version(&delta.new),
                delta.cause
            );
            lines.lock().expect("unpoisoned").push(line);
        }));
        log
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().expect("unpoisoned"))
    }
}

#[test]
fn a_relist_is_a_difference_and_finds_what_was_deleted_meanwhile() {
    let (informer, _) = informer();
    let log = Log::on(&informer);
    list(&informer, &[plain("a", 1), plain("b", 2), plain("c", 3)], 5);
    assert!(informer.has_synced());
    assert_eq!(log.take(), ["a ->1 FirstList", "b ->2 FirstList", "c ->3 FirstList"]);
    list(&informer, &[plain("a", 1), plain("c", 7), plain("d", 8)], 9);
    assert_eq!(log.take(), ["c 3>7 Relist", "d ->8 Relist", "b 2>- Relist"]);
    assert_eq!(names(&informer.list(None, None)), ["a", "c", "d"]);
    assert_eq!(informer.progress(), Some(version_of(9)));
}

#[test]
fn an_object_recreated_under_its_name_is_a_deletion_and_an_addition() {
    let (informer, _) = informer();
    let log = Log::on(&informer);
    list(&informer, &[plain("a", 1)], 1);
    log.take();
    informer
        .changed(object("a", 5, "another", "front", "").as_bytes())
        .expect("valid");
    assert_eq!(log.take(), ["a 1>- Event", "a ->5 Event"]);
    list(&informer, &[object("a", 9, "third", "front", "")], 9);
    assert_eq!(log.take(), ["a 5>- Relist", "a ->9 Relist"]);
}

#[test]
fn an_event_that_comes_late_or_twice_changes_nothing() {
    let (informer, _) = informer();
    list(&informer, &[plain("a", 5)], 5);
    let log = Log::on(&informer);
    informer.admit();
    log.take();
    informer.changed(plain("a", 5).as_bytes()).expect("valid");
    informer.changed(plain("a", 4).as_bytes()).expect("valid");
    informer
        .deleted(object("a", 3, "before", "front", "").as_bytes())
        .expect("valid");
    assert!(log.take().is_empty());
    assert_eq!(informer.progress(), Some(version_of(5)));
    informer.deleted(plain("a", 6).as_bytes()).expect("valid");
    assert_eq!(log.take(), ["a 5>- Event"]);
}

#[test]
fn who_subscribes_late_hears_first_what_is_there() {
    let (informer, _) = informer();
    list(&informer, &[plain("a", 1), plain("b", 2)], 5);
    let log = Log::on(&informer);
    informer.changed(plain("b", 6).as_bytes()).expect("valid");
    assert_eq!(log.take(), ["a ->1 FirstList", "b ->2 FirstList", "b 2>6 Event"]);
}

#[test]
fn indexes_follow_every_change() {
    let (informer, _) = informer();
    informer.add_index(
        "parity",
        Arc::new(|object| {
            let odd = object.header().version.number().unwrap_or_default() % 2 == 1;
            vec![if odd { "odd" } else { "even" }.to_owned()]
        }),
    );
    list(
        &informer,
        &[object("a", 1, "ua", "front", "o1"), object("b", 2, "ub", "back", "o1")],
        2,
    );
    assert_eq!(names(&informer.by_owner("o1")), ["a", "b"]);
    assert_eq!(names(&informer.by_index("parity", "odd")), ["a"]);
    let front = Selector::parse("tier=front").expect("valid");
    assert_eq!(names(&informer.list(None, Some(&front))), ["a"]);
    informer
        .changed(object("b", 3, "ub", "front", "o2").as_bytes())
        .expect("valid");
    assert_eq!(names(&informer.by_owner("o1")), ["a"]);
    assert_eq!(names(&informer.by_owner("o2")), ["b"]);
    assert_eq!(names(&informer.by_index("parity", "odd")), ["a", "b"]);
    assert_eq!(names(&informer.list(Some("shop"), Some(&front))), ["a", "b"]);
    assert!(informer.list(Some("elsewhere"), Some(&front)).is_empty());
    informer
        .deleted(object("a", 4, "ua", "front", "o1").as_bytes())
        .expect("valid");
    assert!(informer.by_owner("o1").is_empty());
    assert_eq!(names(&informer.list(None, Some(&front))), ["b"]);
    assert!(informer.by_index("no such", "x").is_empty());
}

#[test]
fn own_writes_show_at_once_in_every_view_and_leave_with_the_watch() {
    let (informer, overlay) = informer();
    list(&informer, &[object("a", 1, "ua", "front", "o")], 1);
    let reader = Reader::new([informer.clone()]);
    let write = |verb, name, text: String| {
        let target = Target::object(verb, &app(), &key(name), None);
        overlay.written(&target, &text.into());
    };
    write("create", "b", object("b", 5, "ub", "front", "o"));
    write("patch", "a", object("a", 6, "ua", "back", "other"));
    assert_eq!(found(&reader, "b"), "5");
    assert_eq!(found(&reader, "a"), "6");
    assert_eq!(names(&reader.by_owner(&app(), "o")), ["b"]);
    let front = Selector::parse("tier=front").expect("valid");
    assert_eq!(names(&reader.list(&app(), None, Some(&front)).expect("known")), ["b"]);
    assert_eq!(
        names(&reader.list(&app(), Some("shop"), None).expect("known")),
        ["a", "b"]
    );
    // The watch is one event behind: what it says of `a` is older than what was written.
    informer
        .changed(object("b", 5, "ub", "front", "o").as_bytes())
        .expect("valid");
    assert_eq!(found(&reader, "a"), "6");
    assert_eq!(overlay.len(), 1);
    informer
        .changed(object("a", 6, "ua", "back", "other").as_bytes())
        .expect("valid");
    assert!(overlay.is_empty());
    write("delete", "b", object("b", 5, "ub", "front", "o"));
    assert_eq!(found(&reader, "b"), "missing");
    assert!(reader.by_owner(&app(), "o").is_empty());
    informer
        .changed(object("b", 9, "recreated", "front", "o").as_bytes())
        .expect("valid");
    assert_eq!(found(&reader, "b"), "9");
    assert!(overlay.is_empty());
}

#[test]
fn a_miss_says_what_it_is_worth() {
    let overlay = Overlay::new();
    let spec = InformerSpec::all(&app());
    let selected = informer_of(spec.clone().labels(Some("tier=front".to_owned())), &overlay);
    let spaced = informer_of(spec.clone().namespace(Some("shop")), &overlay);
    let elsewhere = informer_of(spec.clone().namespace(Some("elsewhere")), &overlay);
    let metadata = informer_of(spec.metadata_only(true), &overlay);
    for informer in [&selected, &elsewhere, &metadata] {
        list(informer, &[], 1);
    }
    let lookup = |informers: &[&Informer]| {
        let reader = Reader::new(informers.iter().map(|informer| (*informer).clone()));
        found(&reader, "a")
    };
    assert_eq!(lookup(&[]), "NotWatched");
    assert_eq!(lookup(&[&metadata]), "NotWatched");
    assert_eq!(lookup(&[&elsewhere]), "OutsideNamespaces");
    assert_eq!(lookup(&[&selected]), "OutsideSelector");
    assert_eq!(lookup(&[&spaced]), "Unsynced");
    list(&spaced, &[], 1);
    assert_eq!(lookup(&[&spaced]), "missing");
    assert_eq!(lookup(&[&selected, &spaced]), "missing");
    overlay.doubt(&Target::object("patch", &app(), &key("a"), None));
    assert_eq!(lookup(&[&spaced]), "InDoubt");
    let reader = Reader::new([spaced.clone()]);
    assert!(reader.list(&app(), Some("shop"), None).is_none());
}

#[test]
fn a_list_is_answered_only_where_the_informers_hold_all_of_it() {
    let overlay = Overlay::new();
    let spec = InformerSpec::all(&app());
    let selected = informer_of(spec.clone().labels(Some("tier in (front,back)".to_owned())), &overlay);
    list(&selected, &[plain("a", 1)], 1);
    let reader = Reader::new([selected]);
    let narrower = Selector::parse("tier=front").expect("valid");
    assert!(reader.list(&app(), None, None).is_none());
    assert_eq!(
        names(&reader.list(&app(), None, Some(&narrower)).expect("implied")),
        ["a"]
    );
    let shop = informer_of(spec.clone().namespace(Some("shop")), &overlay);
    let other = informer_of(spec.namespace(Some("other")), &overlay);
    list(&shop, &[plain("b", 2)], 2);
    list(&other, &[], 2);
    let reader = Reader::new([shop, other]);
    assert_eq!(
        names(&reader.list(&app(), None, None).expect("all watched namespaces")),
        ["b"]
    );
    assert!(reader.list(&app(), Some("third"), None).is_none());
}

#[test]
fn an_own_write_outside_the_selector_shows_by_name_but_not_in_the_list() {
    let overlay = Overlay::new();
    let spec = InformerSpec::all(&app()).labels(Some("tier=front".to_owned()));
    let informer = informer_of(spec, &overlay);
    list(&informer, &[], 1);
    let target = Target::object("create", &app(), &key("a"), None);
    overlay.written(&target, &object("a", 5, "ua", "back", "").into());
    let reader = Reader::new([informer.clone()]);
    assert_eq!(found(&reader, "a"), "5");
    let front = Selector::parse("tier=front").expect("valid");
    assert!(reader.list(&app(), None, Some(&front)).expect("known").is_empty());
    informer.advance(&version_of(5));
    assert!(overlay.is_empty(), "the version has passed, the object never came");
    assert_eq!(found(&reader, "a"), "OutsideSelector");
}

#[test]
fn decoded_objects_are_shared_until_they_change() {
    let (informer, _) = informer();
    list(&informer, &[plain("a", 1)], 1);
    let get = || informer.get(&key("a")).expect("there");
    let first = get().decode::<serde_json::Value>().expect("fits");
    assert!(Arc::ptr_eq(&first, &get().decode().expect("fits")));
    informer.changed(plain("a", 2).as_bytes()).expect("valid");
    let second = get().decode::<serde_json::Value>().expect("fits");
    assert_eq!(second["spec"]["v"], 2);
    let error = get().decode::<Vec<u8>>().expect_err("an object is no list").to_string();
    assert!(error.starts_with("App shop/a does not fit its Rust type"), "{error}");
}

#[test]
fn a_subscriber_may_ask_the_informer() {
    let (informer, _) = informer();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (asked, log) = (informer.clone(), Arc::clone(&seen));
    informer.subscribe(Arc::new(move |delta: &Delta| {
        assert_eq!(delta.cause, DeltaCause::FirstList);
        log.lock().expect("unpoisoned").push(asked.list(None, None).len());
    }));
    list(&informer, &[plain("a", 1), plain("b", 1)], 1);
    assert_eq!(*seen.lock().expect("unpoisoned"), [1, 2]);
}

fn found(reader: &Reader, name: &str) -> String {
    match reader.get(&app(), &key(name)) {
        Lookup::Found(cached) => cached.header().version.to_string(),
        Lookup::Missing => "missing".to_owned(),
        Lookup::Unknown(why) => format!("{why:?}"),
    }
}
