//! Reads of a filled cache, beside what they cannot do without.

#![expect(
    clippy::disallowed_types,
    reason = "the peer is what people would write; its order is not looked at"
)]

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use kubewright::cache::{Informer, Lookup, Reader};
use kubewright::k8s_openapi::api::core::v1::Pod;
use kubewright::{Kind, ObjectKey};
use tokio::time::Instant;

use super::objects::SIBLINGS;
use crate::Failure;

/// Objects that are read again and again; fewer than an informer keeps decoded.
const HOT: usize = 100;
/// Objects that are read once a round; far more than an informer keeps decoded.
const COLD: usize = 2_000;
const AT_LEAST: Duration = Duration::from_millis(300);

/// Nanoseconds of: a hot get, a look-up in a hash map, a cold get, decoding its JSON, a list by owner, a get of one of
/// its objects.
///
/// # Errors
/// When an object is not there.
pub(crate) fn measure(informer: &Informer) -> Result<Vec<f64>, Failure> {
    let kind = Kind::of::<Pod>();
    let reader = Reader::new([informer.clone()]);
    let keys = informer.keys();
    // From all over the cache.
    let spread = |count: usize| -> Vec<ObjectKey> {
        let step = (keys.len() / count).max(1);
        keys.iter().step_by(step).take(count).map(fresh).collect()
    };
    let get = |key: &ObjectKey| match reader.get_as::<Pod>(&kind, key) {
        Ok(Lookup::Found(pod)) => Ok(pod),
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
    let began = Instant::now();
    while began.elapsed() < AT_LEAST {
        // The clock is asked seldom where calls are short.
        for _ in 0..(256 / arguments.len()).max(1) {
            for argument in arguments {
                call(argument)?;
            }
            calls += arguments.len();
        }
    }
    Ok(began.elapsed().as_nanos() as f64 / calls as f64)
}
