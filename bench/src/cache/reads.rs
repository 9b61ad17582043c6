//! Reads of a filled cache, beside what they cannot do without.

#![expect(
    clippy::disallowed_types,
    reason = "the peer is what people would write; its order is not looked at"
)]

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

use futures::FutureExt as _;
use kubewright::cache::{Informer, Reader};
use kubewright::client::{Origin, Transport};
use kubewright::context::{Primary, Shared};
use kubewright::events::Recorder;
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::metrics::Metrics;
use kubewright::{Context, Declaration, Env, Kind, ObjectKey};

use super::objects::SIBLINGS;
use super::ours::Once;
use crate::Failure;
use crate::harness::thread_cpu;

/// Objects that are read again and again; fewer than an informer keeps decoded.
const HOT: usize = 100;
/// Objects that are read once a round; far more than an informer keeps decoded.
const COLD: usize = 2_000;
/// Microseconds that each is measured for.
const AT_LEAST: f64 = 300_000.0;

/// Nanoseconds of: a hot get, a look-up in a hash map, a cold get, decoding its JSON, a list by owner, a get of one of
/// its objects.
///
/// # Errors
/// When an object is not there.
pub(crate) fn measure(informer: &Informer, transport: &Transport) -> Result<Vec<f64>, Failure> {
    let kind = Kind::of::<Pod>();
    let reader = Reader::new([informer.clone()]);
    let cx = context(informer, transport)?;
    let keys = informer.keys();
    // From all over the cache.
    let spread = |count: usize| -> Vec<ObjectKey> {
        let step = (keys.len() / count).max(1);
        keys.iter().step_by(step).take(count).map(fresh).collect()
    };
    // What the cache answers never waits.
    let get = |key: &ObjectKey| match cx.get::<Pod>(key).now_or_never() {
        Some(Ok(Some(pod))) => Ok(pod),
        other => Err(format!("{key} is {other:?}")),
    };

    let hot = spread(HOT);
    let mut map: HashMap<ObjectKey, Arc<Pod>> = HashMap::new();
    let any = get(&hot[0])?;
    map.extend(keys.iter().map(|key| (key.clone(), Arc::clone(&any))));
    for key in &hot {
        map.insert(key.clone(), get(key)?);
    }
    let of_hot = each(&hot, |key| get(key).map(drop))?;
    let of_map = each(&hot, |key| {
        black_box(map.get(key).cloned());
        Ok(())
    })?;

    let cold = spread(COLD);
    let texts: Vec<_> = cold.iter().filter_map(|key| Some(informer.get(key)?.json())).collect();
    let of_cold = each(&cold, |key| get(key).map(drop))?;
    let of_json = each(&texts, |text| {
        let pod: Pod = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        black_box(Arc::new(pod));
        Ok(())
    })?;

    let owner = informer
        .get(&keys[0])
        .and_then(|pod| Some(pod.header().controller()?.uid.clone()));
    let owner = owner.ok_or("each Pod has an owner")?;
    let siblings = reader.by_owner(&kind, &owner);
    if siblings.len() != SIBLINGS {
        return Err(format!("an owner has {} Pods", siblings.len()).into());
    }
    let siblings: Vec<ObjectKey> = siblings.iter().map(|pod| fresh(pod.key())).collect();
    for key in &siblings {
        get(key)?;
    }
    let of_list = each(&[owner], |owner| {
        let found = reader
            .controlled_as::<Pod>(&kind, owner)
            .map_err(|error| error.to_string())?;
        assert_eq!(black_box(found).len(), SIBLINGS);
        Ok(())
    })?;
    let of_sibling = each(&siblings, |key| get(key).map(drop))?;
    Ok(vec![of_hot, of_map, of_cold, of_json, of_list, of_sibling])
}

/// The context of a reconcile, as a controller of Pods gives it to its author.
fn context(informer: &Informer, transport: &Transport) -> Result<Context<Once>, Failure> {
    let any = informer.keys().first().and_then(|key| informer.get(key));
    let (recorder, _) = Recorder::pair("bench", Metrics::default());
    let shared = Shared {
        declared: Arc::new(Declaration::<Once>::of().declared().clone()),
        reader: Reader::new([informer.clone()]),
        transport: transport.clone(),
        memory: Arc::default(),
        env: Env::system(),
        recorder,
        field_manager: "bench/once".into(),
    };
    let primary = Primary {
        kind: Kind::of::<Pod>(),
        header: any.ok_or("there are Pods")?.header_arc(),
    };
    Ok(Context::new(shared, primary, Origin::part("bench")))
}

/// A key as a caller makes it: it shares no memory with the cache.
fn fresh(key: &ObjectKey) -> ObjectKey {
    ObjectKey::new(&*key.namespace, &*key.name)
}

/// Nanoseconds of one call, over rounds of all arguments.
#[allow(clippy::cast_precision_loss, reason = "a mean")]
fn each<T>(arguments: &[T], mut call: impl FnMut(&T) -> Result<(), String>) -> Result<f64, Failure> {
    for argument in arguments {
        call(argument)?;
    }
    let mut calls = 0;
    // The time that this thread had, whatever else the machine does.
    let began = thread_cpu();
    loop {
        // The clock is asked seldom where calls are short.
        for _ in 0..(256 / arguments.len()).max(1) {
            for argument in arguments {
                call(argument)?;
            }
            calls += arguments.len();
        }
        let taken = thread_cpu() - began;
        if taken >= AT_LEAST {
            return Ok(taken * 1e3 / calls as f64);
        }
    }
}
