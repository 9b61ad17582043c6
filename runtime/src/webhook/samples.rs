//! Objects made up from a definition's schema, to try conversions with.

use serde_json::{Map, Value, json};

/// How much of what is optional a sample holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fill {
    /// Everything.
    Full,
    /// What is required.
    Sparse,
    /// Each or not, by chance.
    Mixed,
}

/// How deep values go: a schema may speak of itself.
const DEEPEST: usize = 12;

/// Makes samples up, always the same ones.
pub(super) struct Samples {
    state: u64,
}

impl Samples {
    pub(super) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// An object of the version that `schema` describes.
    pub(super) fn object(&mut self, schema: &Value, api_version: &str, kind: &str, fill: Fill) -> Value {
        let mut object = match self.value(schema, fill, 0) {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        object.insert("apiVersion".to_owned(), api_version.into());
        object.insert("kind".to_owned(), kind.into());
        let mut metadata = json!({ "name": "sample", "uid": "0", "generation": 1 });
        if fill != Fill::Sparse {
            metadata["labels"] = json!({ "a": self.word() });
            metadata["annotations"] = json!({ "b": self.word() });
        }
        object.insert("metadata".to_owned(), metadata);
        Value::Object(object)
    }

    fn value(&mut self, schema: &Value, fill: Fill, depth: usize) -> Value {
        if let Some(allowed) = schema["enum"].as_array().filter(|allowed| !allowed.is_empty()) {
            let given: Vec<&Value> = allowed.iter().filter(|value| !value.is_null()).collect();
            return given
                .get(self.below(given.len()))
                .map_or(Value::Null, |value| (*value).clone());
        }
        if schema["x-kubernetes-int-or-string"] == true {
            return if self.below(2) == 0 { json!(8080) } else { json!("50%") };
        }
        match schema["type"].as_str() {
            Some("object") => self.fields(schema, fill, depth),
            Some("array") => {
                let least = count(&schema["minItems"]).unwrap_or(0);
                let length = least.max(if fill == Fill::Sparse { 0 } else { self.below(3) });
                let length = length.min(count(&schema["maxItems"]).unwrap_or(usize::MAX));
                (0..length)
                    .map(|_| self.value(&schema["items"], fill, depth + 1))
                    .collect()
            }
            Some("string") => self.text(schema).into(),
            Some("integer") => self.whole(schema).into(),
            Some("number") => json!(bounded(schema, 1.5)),
            Some("boolean") => (self.below(2) == 0).into(),
            _ => json!({}),
        }
    }

    fn fields(&mut self, schema: &Value, fill: Fill, depth: usize) -> Value {
        let mut fields = Map::new();
        let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            if depth == 0 && ["apiVersion", "kind", "metadata"].contains(&name.as_str()) {
                continue;
            }
            let wanted = match fill {
                Fill::Full => true,
                Fill::Sparse => false,
                Fill::Mixed => self.below(2) == 0,
            };
            if required.iter().any(|required| required == name) || (wanted && depth < DEEPEST) {
                let value = self.value(schema, fill, depth + 1);
                fields.insert(name.clone(), value);
            }
        }
        let of_all = &schema["additionalProperties"];
        if of_all.is_object() && fill != Fill::Sparse && depth < DEEPEST {
            for _ in 0..self.below(3) {
                let (name, value) = (self.word(), self.value(of_all, fill, depth + 1));
                fields.insert(name, value);
            }
        }
        Value::Object(fields)
    }

    fn text(&mut self, schema: &Value) -> String {
        match schema["format"].as_str() {
            Some("date-time") => return "2026-01-02T03:04:05Z".to_owned(),
            Some("date") => return "2026-01-02".to_owned(),
            Some("byte") => return "aGVsbG8=".to_owned(),
            Some("uuid") => return "6ba7b810-9dad-11d1-80b4-00c04fd430c8".to_owned(),
            Some("ipv4" | "ip") => return "10.0.0.1".to_owned(),
            Some("ipv6") => return "fd00::1".to_owned(),
            Some("uri" | "url") => return "https://sample.example/".to_owned(),
            _ => {}
        }
        let mut text = self.word();
        while text.len() < count(&schema["minLength"]).unwrap_or(0) {
            text.push('a');
        }
        text.truncate(count(&schema["maxLength"]).unwrap_or(usize::MAX));
        text
    }

    fn whole(&mut self, schema: &Value) -> i64 {
        let least = schema["minimum"].as_f64().unwrap_or(0.0);
        let most = schema["maximum"].as_f64().unwrap_or(least + 1000.0);
        #[expect(clippy::cast_possible_truncation, reason = "bounds of whole numbers")]
        let (least, most) = (least.ceil() as i64, most.floor() as i64);
        let range = usize::try_from(most.saturating_sub(least).clamp(0, 1_000_000)).unwrap_or(0);
        least.saturating_add(i64::try_from(self.below(range + 1)).unwrap_or(0))
    }

    fn word(&mut self) -> String {
        let length = 2 + self.below(6);
        (0..length)
            .map(|_| char::from(b'a' + u8::try_from(self.below(26)).unwrap_or(0)))
            .collect()
    }

    /// A number below `end`; 0 where there is none. splitmix64.
    fn below(&mut self, end: usize) -> usize {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        usize::try_from(z % (end.max(1) as u64)).unwrap_or(0)
    }
}

fn count(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn bounded(schema: &Value, value: f64) -> f64 {
    let least = schema["minimum"].as_f64().unwrap_or(f64::MIN);
    let most = schema["maximum"].as_f64().unwrap_or(f64::MAX);
    value.max(least).min(most)
}
