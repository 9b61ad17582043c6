//! OpenAPI schemas to nodes.

use std::sync::Arc;

use regex::RegexBuilder;
use serde_json::{Map, Value};

use super::data::{self, Definition};
use super::node::{Contents, Format, ListType, Node, NodeRef, Property, Type, Validations};
use super::rule::Rule;

const REFERENCE: &str = "#/components/schemas/";

/// A recorded definition as a node.
pub(super) fn definition(definition: &'static Definition) -> Node {
    let schema: Value = serde_json::from_str(definition.json).unwrap_or_default();
    let mut node = node(&schema, Context::default());
    let short = definition.name.rsplit('.').next().unwrap_or(definition.name);
    node.name = Some(short);
    node.contents = Contents::default();
    match short {
        "Time" => node.format = Format::Time,
        "MicroTime" => node.format = Format::MicroTime,
        "Quantity" => (node.kind, node.format) = (Type::Any, Format::Quantity),
        "IntOrString" => (node.kind, node.format) = (Type::Any, Format::IntOrString),
        // Free-form objects: RawExtension, FieldsV1, the JSON types of schemas.
        _ => node.preserve_unknown |= node.properties.is_empty() && node.additional.is_none(),
    }
    node
}

/// The root of a custom kind: what every object has (`apiVersion`, `kind`, `metadata`) is typed as for built-in kinds.
pub(super) fn structural_root(schema: &Value) -> Node {
    let mut root = node(schema, Context::of(schema));
    root.embedded = true;
    complete_object(&mut root);
    root.contents = Contents::of_root(&root);
    root
}

/// A schema in the middle of an object.
pub(super) fn part(schema: &Value) -> Node {
    let mut part = node(schema, Context::of(schema));
    part.contents = Contents::of_root(&part);
    part
}

/// How much memory the compiled patterns of one schema may take, and each of them.
const PATTERNS: usize = 8 * 1024 * 1024;
const PATTERN: usize = 1024 * 1024;

/// What a part of a schema takes from the whole.
#[derive(Clone, Copy)]
struct Context {
    /// Whether a node above keeps unknown fields.
    preserving: bool,
    /// How much memory one compiled pattern may take. A definition can hold a hundred thousand of them.
    pattern: usize,
}

impl Default for Context {
    fn default() -> Self {
        Self {
            preserving: false,
            pattern: PATTERN,
        }
    }
}

impl Context {
    fn of(schema: &Value) -> Self {
        Self {
            pattern: PATTERN.min(PATTERNS / patterns(schema).max(1)),
            ..Self::default()
        }
    }

    fn below(self) -> Self {
        Self {
            preserving: false,
            ..self
        }
    }
}

/// How many patterns there are at most.
fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Object(map) => {
            usize::from(map.get("pattern").is_some_and(Value::is_string)) + map.values().map(patterns).sum::<usize>()
        }
        Value::Array(items) => items.iter().map(patterns).sum(),
        _ => 0,
    }
}

fn node(schema: &Value, mut context: Context) -> Node {
    let Some(schema) = schema.as_object() else {
        return Node {
            preserve_unknown: true,
            ..Node::default()
        };
    };
    let preserve_unknown = flag(schema, "x-kubernetes-preserve-unknown-fields");
    context.preserving |= preserve_unknown;
    let int_or_string = flag(schema, "x-kubernetes-int-or-string");
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let kind = match text("type") {
        Some("object") => Type::Object,
        Some("array") => Type::Array,
        Some("string") => Type::String,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("boolean") => Type::Boolean,
        _ => Type::Any,
    };
    let format = match (kind, text("format")) {
        _ if int_or_string => Format::IntOrString,
        (_, Some("int32")) => Format::Int32,
        (_, Some("int64")) => Format::Int64,
        (Type::String, Some("byte")) => Format::Bytes,
        _ => Format::None,
    };
    let mut properties: Vec<Property> = schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|p| property(p, context))
        .collect();
    properties.sort_by(|a, b| a.name.cmp(&b.name));
    let mut node = Node {
        name: None,
        kind,
        format,
        properties: properties.into(),
        additional: schema.get("additionalProperties").and_then(|s| additional(s, context)),
        items: schema.get("items").map(|s| reference(s, context)),
        list: list_type(schema),
        atomic_map: text("x-kubernetes-map-type") == Some("atomic"),
        patch_merge: text("x-kubernetes-patch-strategy").is_some_and(|s| s.contains("merge")),
        merge_key: text("x-kubernetes-patch-merge-key").map(Into::into),
        required: strings(schema.get("required")),
        nullable: flag(schema, "nullable"),
        preserve_unknown,
        deduced: false,
        embedded: flag(schema, "x-kubernetes-embedded-resource"),
        metadata: None,
        default: schema.get("default").cloned(),
        validations: validations(schema, context),
        contents: Contents::default(),
    };
    node.deduced = context.preserving || (node.properties.is_empty() && node.additional.is_none());
    if node.embedded {
        complete_object(&mut node);
    }
    node.contents = Contents::of(&node);
    node
}

/// Gives an object the three fields that every Kubernetes object has.
fn complete_object(node: &mut Node) {
    let mut properties = std::mem::take(&mut node.properties).into_vec();
    for name in ["apiVersion", "kind"] {
        if !properties.iter().any(|p| &*p.name == name) {
            let text = Node {
                kind: Type::String,
                ..Node::default()
            };
            let node = NodeRef::Own(Arc::new(text));
            properties.push(Property {
                name: name.into(),
                node,
                default: None,
                retain_keys: false,
            });
        }
    }
    if let Some(meta) = data::definition("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") {
        if let Some(at) = properties.iter().position(|p| &*p.name == "metadata") {
            node.metadata = Some(properties.swap_remove(at).node);
        }
        let node = NodeRef::Builtin(meta);
        properties.push(Property {
            name: "metadata".into(),
            node,
            default: None,
            retain_keys: false,
        });
    }
    properties.sort_by(|a, b| a.name.cmp(&b.name));
    node.properties = properties.into();
}

fn property((name, schema): (&String, &Value), context: Context) -> Property {
    Property {
        name: name.as_str().into(),
        node: reference(schema, context),
        default: schema.get("default").cloned(),
        retain_keys: schema
            .get("x-kubernetes-patch-strategy")
            .and_then(Value::as_str)
            .is_some_and(|s| s.contains("retainKeys")),
    }
}

/// A schema in place, or the definition that it names.
fn reference(schema: &Value, context: Context) -> NodeRef {
    let named = schema
        .get("$ref")
        .or_else(|| schema.pointer("/allOf/0/$ref"))
        .and_then(Value::as_str);
    named
        .and_then(|name| data::definition(name.strip_prefix(REFERENCE)?))
        .map_or_else(|| NodeRef::Own(Arc::new(node(schema, context))), NodeRef::Builtin)
}

fn additional(schema: &Value, context: Context) -> Option<NodeRef> {
    match schema {
        Value::Bool(false) => None,
        Value::Bool(true) => Some(NodeRef::Own(Arc::new(Node {
            preserve_unknown: true,
            ..Node::default()
        }))),
        schema => Some(reference(schema, context)),
    }
}

fn list_type(schema: &Map<String, Value>) -> ListType {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListType::Set,
        Some("map") => ListType::Map(strings(schema.get("x-kubernetes-list-map-keys"))),
        _ => ListType::Atomic,
    }
}

fn validations(schema: &Map<String, Value>, context: Context) -> Option<Box<Validations>> {
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let count = |key: &str| schema.get(key).and_then(Value::as_f64).map(|n| n.max(0.0) as u64);
    let nodes = |key: &str| -> Vec<Node> {
        schema
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter(|s| s.get("$ref").is_none())
            .map(|s| node(s, context.below()))
            .collect()
    };
    let rules = Validations {
        enumeration: schema.get("enum").and_then(Value::as_array).cloned(),
        format: schema.get("format").and_then(Value::as_str).map(str::to_owned),
        pattern: schema.get("pattern").and_then(Value::as_str).map(|p| {
            let compiled = RegexBuilder::new(p).size_limit(context.pattern).build();
            (p.to_owned(), compiled.ok())
        }),
        min_length: count("minLength"),
        max_length: count("maxLength"),
        minimum: number("minimum").map(|n| (n, flag(schema, "exclusiveMinimum"))),
        maximum: number("maximum").map(|n| (n, flag(schema, "exclusiveMaximum"))),
        multiple_of: number("multipleOf"),
        min_items: count("minItems"),
        max_items: count("maxItems"),
        min_properties: count("minProperties"),
        max_properties: count("maxProperties"),
        all_of: nodes("allOf"),
        any_of: nodes("anyOf"),
        one_of: nodes("oneOf"),
        not: schema.get("not").map(|s| Box::new(node(s, context.below()))),
        rules: schema
            .get("x-kubernetes-validations")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .map(Rule::new)
            .collect(),
    };
    rules.any().then(|| Box::new(rules))
}

impl Validations {
    fn any(&self) -> bool {
        self.enumeration.is_some()
            || self.format.is_some()
            || self.pattern.is_some()
            || self.min_length.is_some()
            || self.max_length.is_some()
            || self.minimum.is_some()
            || self.maximum.is_some()
            || self.multiple_of.is_some()
            || self.min_items.is_some()
            || self.max_items.is_some()
            || self.min_properties.is_some()
            || self.max_properties.is_some()
            || !self.all_of.is_empty()
            || !self.any_of.is_empty()
            || !self.one_of.is_empty()
            || self.not.is_some()
            || !self.rules.is_empty()
    }
}

fn flag(schema: &Map<String, Value>, key: &str) -> bool {
    schema.get(key) == Some(&Value::Bool(true))
}

fn strings(list: Option<&Value>) -> Box<[Arc<str>]> {
    list.and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(Into::into)
        .collect()
}
