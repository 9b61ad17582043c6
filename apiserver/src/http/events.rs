//! The forms of watch events other than the plain one: metadata and tables.

use bytes::Bytes;
use serde_json::{Value, json};

use super::protobuf;
use crate::error::ApiError;
use crate::registry::Scope;
use crate::registry::shape;
use crate::registry::watch::EventForm;
use crate::storage::Stored;
use crate::table::{self, Include, Style};

/// Each event's object cut down to its metadata.
pub(crate) struct PartialEvents {
    pub(crate) version: &'static str,
}

impl EventForm for PartialEvents {
    fn shared(&self) -> Option<u64> {
        None
    }

    fn object(&mut self, scope: &Scope, object: &Stored, revision: u64) -> Result<Bytes, ApiError> {
        let value = at(scope, object, revision)?;
        Ok(table::to_partial(&value, self.version).to_string().into())
    }

    fn bookmark(&mut self, _: &Scope, bookmark: Value) -> Bytes {
        table::to_partial(&bookmark, self.version).to_string().into()
    }
}

/// Each event's object as a table of one row; the columns come with the first event only.
pub(crate) struct TableEvents {
    pub(crate) version: &'static str,
    pub(crate) include: Include,
    pub(crate) headers: bool,
}

impl TableEvents {
    fn table(&mut self, scope: &Scope, objects: &[&Value], meta: &Value) -> Bytes {
        let headers = std::mem::take(&mut self.headers);
        let style = Style {
            version: self.version,
            include: self.include,
            headers,
            now: scope.core.clock.now(),
        };
        table::to_table(&scope.resource, objects, meta, style)
            .to_string()
            .into()
    }
}

impl EventForm for TableEvents {
    fn shared(&self) -> Option<u64> {
        None
    }

    fn object(&mut self, scope: &Scope, object: &Stored, revision: u64) -> Result<Bytes, ApiError> {
        let value = at(scope, object, revision)?;
        let meta = json!({ "resourceVersion": revision.to_string() });
        Ok(self.table(scope, &[&value], &meta))
    }

    fn bookmark(&mut self, scope: &Scope, bookmark: Value) -> Bytes {
        let meta = json!({ "resourceVersion": bookmark["metadata"]["resourceVersion"] });
        self.table(scope, &[&bookmark], &meta)
    }
}

/// Another form in protobuf.
pub(crate) struct ProtobufEvents<F>(pub(crate) F);

impl<F: EventForm> EventForm for ProtobufEvents<F> {
    fn shared(&self) -> Option<u64> {
        // Not the bytes that the JSON form of the same objects shares.
        self.0.shared().map(|form| !form)
    }

    fn object(&mut self, scope: &Scope, object: &Stored, revision: u64) -> Result<Bytes, ApiError> {
        self.0.object(scope, object, revision)
    }

    fn frame(&self, kind: &str, object: Bytes) -> Bytes {
        let value: Value = serde_json::from_slice(&object).unwrap_or_default();
        protobuf::event(kind, &value).unwrap_or_default().into()
    }

    fn bookmark(&mut self, scope: &Scope, bookmark: Value) -> Bytes {
        self.0.bookmark(scope, bookmark)
    }
}

fn at(scope: &Scope, object: &Stored, revision: u64) -> Result<Value, ApiError> {
    let mut value = shape::value(&scope.resource, object)?;
    value["metadata"]["resourceVersion"] = revision.to_string().into();
    Ok(value)
}
