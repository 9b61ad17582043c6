//! The answer to a list, split without decoding its items.

use bytes::Bytes;

use crate::cache::facts::ScanError;
use crate::cache::json::{Cursor, JsonError};
use crate::client::Page;
use crate::delta::Version;

/// Splits the answer to a list into its items, which share the answer's buffer.
pub(crate) fn split_list(answer: &Bytes) -> Result<Page, ScanError> {
    let mut items = Vec::new();
    let mut version = None;
    let mut continue_token = None;
    let mut listed = false;
    Cursor::new(answer).members(|name, value| {
        match name {
            b"items" if value.is_null() => {
                listed = true;
                value.skip()?;
            }
            b"items" => {
                listed = true;
                value.elements(|item| {
                    items.push(answer.slice(item.skip()?));
                    Ok::<(), JsonError>(())
                })?;
            }
            b"metadata" => value.members(|name, value| {
                match name {
                    b"resourceVersion" => version = value.text()?.map(|text| Version::parse(&text)),
                    b"continue" => {
                        continue_token = value.text()?.filter(|text| !text.is_empty()).map(Into::into);
                    }
                    _ => {
                        value.skip()?;
                    }
                }
                Ok::<(), JsonError>(())
            })?,
            _ => {
                value.skip()?;
            }
        }
        Ok::<(), ScanError>(())
    })?;
    if !listed {
        return Err(ScanError::Missing("items"));
    }
    Ok(Page {
        items,
        version: version.ok_or(ScanError::Missing("metadata.resourceVersion"))?,
        continue_token,
    })
}
