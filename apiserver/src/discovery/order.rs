//! Discovery documents as text, with their fields in the order in which the real server declares them.

use serde_json::Value;

/// The fields of whole documents.
const TOP: &[&str] = &[
    "kind",
    "apiVersion",
    "metadata",
    "groupVersion",
    "name",
    "versions",
    "preferredVersion",
    "serverAddressByClientCIDRs",
];
/// The fields of everything inside.
const INNER: &[&str] = &[
    "metadata",
    "name",
    "singularName",
    "namespaced",
    "groupVersion",
    "group",
    "version",
    "kind",
    "versions",
    "preferredVersion",
    "resources",
    "resource",
    "subresource",
    "responseKind",
    "acceptedTypes",
    "scope",
    "singularResource",
    "verbs",
    "shortNames",
    "categories",
    "storageVersionHash",
    "subresources",
    "freshness",
];

/// The document as JSON text.
pub(super) fn text(document: &Value) -> String {
    let mut out = String::new();
    write(document, TOP, &mut out);
    out
}

fn write(value: &Value, order: &[&str], out: &mut String) {
    match value {
        Value::Object(map) => {
            let place = |name: &str| order.iter().position(|known| *known == name).unwrap_or(order.len());
            let mut fields: Vec<(&String, &Value)> = map.iter().collect();
            fields.sort_by_key(|(name, _)| place(name));
            for (index, (name, value)) in fields.into_iter().enumerate() {
                out.push(if index == 0 { '{' } else { ',' });
                out.push_str(&Value::from(name.as_str()).to_string());
                out.push(':');
                write(value, INNER, out);
            }
            out.push_str(if map.is_empty() { "{}" } else { "}" });
        }
        Value::Array(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, INNER, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn fields_come_as_they_are_declared() {
        let list = json!({
            "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "g/v1",
            "resources": [{ "kind": "Thing", "name": "things", "verbs": [], "namespaced": true, "singularName": "thing" }],
        });
        assert_eq!(
            super::text(&list),
            r#"{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"g/v1","resources":[{"name":"things","singularName":"thing","namespaced":true,"kind":"Thing","verbs":[]}]}"#
        );
    }
}
