//! A column: how it is described, and how its cell is read from an object.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::duration;

/// A kind's table: group, kind, columns.
pub(super) type Table = (&'static str, &'static str, &'static [Column]);

/// What a cell is read from.
pub(super) struct Row<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Timestamp,
}

/// A column of any origin.
pub(super) trait Cells {
    /// The column as `columnDefinitions` has it.
    fn definition(&self) -> Value;
    /// The cell of an object.
    fn cell(&self, row: &Row<'_>) -> Value;
}

/// A column of a built-in kind.
pub(super) struct Column {
    name: &'static str,
    kind: &'static str,
    format: &'static str,
    description: &'static str,
    priority: u8,
    cell: fn(&Row<'_>) -> Value,
}

/// What the API says about `metadata.name`.
pub(super) const NAME_TEXT: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
/// What the API says about `metadata.creationTimestamp`.
pub(super) const CREATED_TEXT: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The name of the object.
pub(super) const NAME: Column = Column {
    format: "name",
    ..Column::text("Name", NAME_TEXT, |row| row.text("/metadata/name").into())
};
/// The time since the object was made.
pub(super) const AGE: Column = Column::text("Age", CREATED_TEXT, |row| row.age("/metadata/creationTimestamp").into());

/// The columns of kinds without a table of their own.
pub(super) const DEFAULT: &[Column] = &[
    NAME,
    Column {
        kind: "date",
        ..Column::text("Created At", CREATED_TEXT, |row| {
            row.text("/metadata/creationTimestamp").into()
        })
    },
];

impl Column {
    /// A column of type string.
    pub(super) const fn text(name: &'static str, description: &'static str, cell: fn(&Row<'_>) -> Value) -> Self {
        Self {
            name,
            kind: "string",
            format: "",
            description,
            priority: 0,
            cell,
        }
    }

    /// A column of type integer.
    pub(super) const fn integer(name: &'static str, description: &'static str, cell: fn(&Row<'_>) -> Value) -> Self {
        Self {
            kind: "integer",
            ..Self::text(name, description, cell)
        }
    }

    /// A column of type boolean.
    pub(super) const fn boolean(name: &'static str, description: &'static str, cell: fn(&Row<'_>) -> Value) -> Self {
        Self {
            kind: "boolean",
            ..Self::text(name, description, cell)
        }
    }

    /// The column, shown only with `-o wide`.
    pub(super) const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// The column, with names for cells.
    pub(super) const fn naming(self) -> Self {
        Self { format: "name", ..self }
    }
}

impl Cells for Column {
    fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }

    fn cell(&self, row: &Row<'_>) -> Value {
        (self.cell)(row)
    }
}

impl<'a> Row<'a> {
    /// The value at a JSON pointer; null when there is none.
    pub(super) fn at(&self, pointer: &str) -> &'a Value {
        self.object.pointer(pointer).unwrap_or(&Value::Null)
    }

    /// The text at a JSON pointer; empty when there is none.
    pub(super) fn text(&self, pointer: &str) -> &'a str {
        self.at(pointer).as_str().unwrap_or_default()
    }

    /// The text at a JSON pointer, or other words when it is missing or empty.
    pub(super) fn text_or(&self, pointer: &str, otherwise: &'a str) -> &'a str {
        Some(self.text(pointer)).filter(|t| !t.is_empty()).unwrap_or(otherwise)
    }

    /// The number at a JSON pointer; zero when there is none.
    pub(super) fn number(&self, pointer: &str) -> i64 {
        self.at(pointer).as_i64().unwrap_or_default()
    }

    /// The list at a JSON pointer; empty when there is none.
    pub(super) fn list(&self, pointer: &str) -> &'a [Value] {
        self.at(pointer).as_array().map(Vec::as_slice).unwrap_or_default()
    }

    /// How many entries a list or map has.
    pub(super) fn count(&self, pointer: &str) -> usize {
        match self.at(pointer) {
            Value::Array(items) => items.len(),
            Value::Object(fields) => fields.len(),
            _ => 0,
        }
    }

    /// The time since a timestamp; `<unknown>` when there is none.
    pub(super) fn age(&self, pointer: &str) -> String {
        self.age_of(self.text(pointer))
    }

    /// The time since a timestamp given as text.
    pub(super) fn age_of(&self, timestamp: &str) -> String {
        match timestamp.parse::<Timestamp>() {
            Ok(then) => duration::human(self.now.duration_since(then)),
            Err(_) => "<unknown>".to_owned(),
        }
    }

    /// Whether the object is being deleted.
    pub(super) fn is_deleting(&self) -> bool {
        !self.at("/metadata/deletionTimestamp").is_null()
    }
}
