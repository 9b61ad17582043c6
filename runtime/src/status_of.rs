//! Which type is whose status, and whether a kind has one.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Visitor};

/// Whether objects of `K` have a status, told from the fields that its `Deserialize` asks for.
///
/// A type that does not deserialize as a struct (such as one with flattened fields) does not tell: then yes, since a
/// permission too many is better than a refused write.
#[must_use]
pub fn has_status<K: DeserializeOwned>() -> bool {
    match K::deserialize(FieldProbe) {
        Err(Probed(Some(fields))) => fields.contains(&"status"),
        _ => true,
    }
}

/// Answers `deserialize_struct` with the names of the fields asked for, as an error.
struct FieldProbe;

#[derive(Debug)]
struct Probed(Option<&'static [&'static str]>);

impl fmt::Display for Probed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("only the names of the fields were asked for")
    }
}

impl std::error::Error for Probed {}

impl serde::de::Error for Probed {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(None)
    }
}

impl<'de> Deserializer<'de> for FieldProbe {
    type Error = Probed;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Probed> {
        Err(Probed(None))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Probed> {
        Err(Probed(Some(fields)))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use k8s_openapi::api::core::v1::ConfigMap;

    #[test]
    fn a_kind_is_known_to_have_a_status_or_not() {
        assert!(super::has_status::<Deployment>());
        assert!(!super::has_status::<ConfigMap>());
    }
}
