//! The recorded messages: field numbers, names and types.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::LazyLock;

use flate2::read::DeflateDecoder;
use serde_json::Value;

use crate::schema::{Type, data};

static PACKED: &[u8] = include_bytes!("../../../data/protobuf.deflate");

/// Every message by name, and the message of every kind.
pub(super) static TABLE: LazyLock<Table> = LazyLock::new(Table::unpack);

#[derive(Default)]
pub(super) struct Table {
    /// By `apiVersion/Kind`.
    kinds: BTreeMap<String, String>,
    messages: BTreeMap<String, Vec<Field>>,
}

/// One field of a message.
pub(super) struct Field {
    pub(super) number: u64,
    /// Name in JSON.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) many: Many,
}

/// What a field holds.
pub(super) enum Kind {
    Text,
    Bytes,
    Bool,
    Integer,
    Double,
    /// A list of texts in a message of its own: `ExtraValue`.
    Texts,
    Time,
    MicroTime,
    Duration,
    Quantity,
    IntOrString,
    /// JSON in bytes: FieldsV1, RawExtension.
    Json,
    /// A schema, or a boolean.
    SchemaOrBool,
    /// A schema, or a list of them.
    SchemaOrArray,
    /// A schema, or a list of names.
    SchemaOrNames,
    /// Fields of another message that JSON shows in place.
    Inline(String),
    Message(String),
}

/// How often a field may come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Many {
    Once,
    List,
    Map,
}

type Fields = &'static [(u64, &'static str, &'static str, Many)];

/// The messages of aggregated discovery (`apidiscovery.k8s.io/v2`), which are no kind of an API group. Fields without a
/// message are texts.
const DISCOVERY: &[(&str, Fields)] = &[
    (
        "APIGroupDiscoveryList",
        &[
            (1, "metadata", "meta.v1.ListMeta", Many::Once),
            (2, "items", "APIGroupDiscovery", Many::List),
        ],
    ),
    (
        "APIGroupDiscovery",
        &[
            (1, "metadata", "meta.v1.ObjectMeta", Many::Once),
            (2, "versions", "APIVersionDiscovery", Many::List),
        ],
    ),
    (
        "APIVersionDiscovery",
        &[
            (1, "version", "", Many::Once),
            (2, "resources", "APIResourceDiscovery", Many::List),
            (3, "freshness", "", Many::Once),
        ],
    ),
    (
        "APIResourceDiscovery",
        &[
            (1, "resource", "", Many::Once),
            (2, "responseKind", "GroupVersionKind", Many::Once),
            (3, "scope", "", Many::Once),
            (4, "singularResource", "", Many::Once),
            (5, "verbs", "", Many::List),
            (6, "shortNames", "", Many::List),
            (7, "categories", "", Many::List),
            (8, "subresources", "APISubresourceDiscovery", Many::List),
        ],
    ),
    (
        "APISubresourceDiscovery",
        &[
            (1, "subresource", "", Many::Once),
            (2, "responseKind", "GroupVersionKind", Many::Once),
            (3, "acceptedTypes", "GroupVersionKind", Many::List),
            (4, "verbs", "", Many::List),
        ],
    ),
    (
        "GroupVersionKind",
        &[
            (1, "group", "", Many::Once),
            (2, "version", "", Many::Once),
            (3, "kind", "", Many::Once),
        ],
    ),
];

const SCHEMA: &str = "apiextensions.v1.JSONSchemaProps";

impl Table {
    /// The message of a kind.
    pub(super) fn of_kind(&self, api_version: &str, kind: &str) -> Option<&str> {
        if api_version.starts_with("meta.k8s.io/") {
            return match kind {
                "PartialObjectMetadata" => Some("partial"),
                "PartialObjectMetadataList" => Some("partials"),
                _ => None,
            };
        }
        if kind == "APIGroupDiscoveryList" {
            return Some("APIGroupDiscoveryList");
        }
        self.kinds.get(&format!("{api_version}/{kind}")).map(String::as_str)
    }

    /// The fields of a message, by number.
    pub(super) fn fields(&self, message: &str) -> &[Field] {
        self.messages.get(message).map_or(&[], Vec::as_slice)
    }

    fn unpack() -> Self {
        let mut text = String::new();
        // The file is part of this program; an empty table speaks no protobuf.
        if DeflateDecoder::new(PACKED).read_to_string(&mut text).is_err() {
            return Self::default();
        }
        let recorded: Value = serde_json::from_str(&text).unwrap_or_default();
        let string = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let kinds = recorded["kinds"].as_object().into_iter().flatten();
        let mut messages: BTreeMap<String, Vec<Field>> = recorded["messages"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, fields)| {
                let fields = fields
                    .as_array()
                    .into_iter()
                    .flatten()
                    .map(|field| Field::of(name, field));
                (name.clone(), fields.collect())
            })
            .collect();
        let metadata = |kind: &str| Field::new(1, "metadata", Kind::Message(kind.to_owned()), Many::Once);
        messages.insert("partial".to_owned(), vec![metadata("meta.v1.ObjectMeta")]);
        let items = Field::new(2, "items", Kind::Message("partial".to_owned()), Many::List);
        messages.insert("partials".to_owned(), vec![metadata("meta.v1.ListMeta"), items]);
        for (name, fields) in DISCOVERY {
            let fields = fields.iter().map(|(number, field, kind, many)| {
                let kind = match *kind {
                    "" => Kind::Text,
                    message => Kind::Message(message.to_owned()),
                };
                Field::new(*number, field, kind, *many)
            });
            messages.insert((*name).to_owned(), fields.collect());
        }
        Self {
            kinds: kinds.map(|(kind, message)| (kind.clone(), string(message))).collect(),
            messages,
        }
    }
}

impl Field {
    fn new(number: u64, name: &str, kind: Kind, many: Many) -> Self {
        Self {
            number,
            name: name.to_owned(),
            kind,
            many,
        }
    }

    /// Reads `[number, wire type, name, type, repetition]`. The wire type follows from the type.
    fn of(message: &str, recorded: &Value) -> Self {
        let text = |index: usize| recorded[index].as_str().unwrap_or_default();
        let (name, kind) = (text(2), text(3));
        let many = match text(4) {
            "map:string" => Many::Map,
            // The recorded tags call some lists single and the reverse; the schemas know.
            other => match is_list(message, name) {
                Some(true) => Many::List,
                Some(false) => Many::Once,
                None if other == "repeated" => Many::List,
                None => Many::Once,
            },
        };
        let kind = match kind {
            "string" => Kind::Text,
            "bytes" => Kind::Bytes,
            "bool" => Kind::Bool,
            "int32" | "int64" | "uint32" | "uint64" => Kind::Integer,
            "float64" | "double" => Kind::Double,
            "list<string>" => Kind::Texts,
            "meta.v1.Time" => Kind::Time,
            "meta.v1.MicroTime" => Kind::MicroTime,
            "meta.v1.Duration" => Kind::Duration,
            "resource.Quantity" => Kind::Quantity,
            "intstr.IntOrString" => Kind::IntOrString,
            "meta.v1.FieldsV1" | "runtime.RawExtension" | "apiextensions.v1.JSON" => Kind::Json,
            "apiextensions.v1.JSONSchemaPropsOrBool" => Kind::SchemaOrBool,
            "apiextensions.v1.JSONSchemaPropsOrArray" => Kind::SchemaOrArray,
            "apiextensions.v1.JSONSchemaPropsOrStringArray" => Kind::SchemaOrNames,
            message if name == "(inline)" => Kind::Inline(message.to_owned()),
            message => Kind::Message(message.to_owned()),
        };
        Self::new(recorded[0].as_u64().unwrap_or_default(), name, kind, many)
    }
}

/// The message of a JSON schema.
pub(super) fn schema() -> Kind {
    Kind::Message(SCHEMA.to_owned())
}

/// Whether the recorded schema of a message calls the field a list; `None` if there is no such schema.
fn is_list(message: &str, field: &str) -> Option<bool> {
    let (package, name) = message.rsplit_once('.')?;
    let full = match package.split_once('/') {
        Some((group, version)) => format!("io.k8s.api.{group}.{version}.{name}"),
        None if package == "meta.v1" => format!("io.k8s.apimachinery.pkg.apis.meta.v1.{name}"),
        None => format!("io.k8s.apiextensions-apiserver.pkg.apis.{package}.{name}"),
    };
    let property = data::definition(&full)?.node().property(field)?;
    Some(property.node.kind == Type::Array)
}
