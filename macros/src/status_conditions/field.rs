//! The field that holds the conditions: what it must be, and the schema that it gets.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Data, DeriveInput, Field, Fields, Type};

use crate::custom_resource::{has_key, path_text};
use crate::diag::Diag;
use crate::path::CratePath;

/// Its name.
pub(super) const CONDITIONS: &str = "conditions";

/// Checks the field and gives it its schema. True where it is there and of the right type.
pub(super) fn conditions(input: &mut DeriveInput, krate: &CratePath, diag: &mut Diag) -> bool {
    const ADD: &str = "add `#[serde(default)] conditions: Vec<Condition>`";
    let ident = input.ident.clone();
    let item_has_default = has_key(&input.attrs, "serde", "default");
    let fields = match &mut input.data {
        Data::Struct(data) => &mut data.fields,
        Data::Enum(data) => {
            diag.error(
                data.enum_token,
                "conditions are a field, so a status with conditions is a struct: write `struct`",
            );
            return false;
        }
        Data::Union(data) => {
            diag.error(data.union_token, "a status with conditions is a struct: write `struct`");
            return false;
        }
    };
    let Fields::Named(named) = fields else {
        diag.error(
            ident,
            format!("a status with conditions has named fields: write `{{ … }}`, and {ADD}"),
        );
        return false;
    };
    let found = named
        .named
        .iter_mut()
        .find(|field| field.ident.as_ref().is_some_and(|name| name == CONDITIONS));
    let Some(field) = found else {
        diag.error(ident, format!("there is no field for the conditions: {ADD}"));
        return false;
    };
    if !is_list(&field.ty) {
        diag.error(
            &field.ty,
            "conditions are a list that may be empty: write `Vec<Condition>`, with `Condition` from `kubewright::prelude`",
        );
        return false;
    }
    if !item_has_default && !has_key(&field.attrs, "serde", "default") {
        let name = field.ident.as_ref().map(ToTokens::to_token_stream);
        diag.error(
            name,
            "an object whose status has no conditions yet could not be read: add `#[serde(default)]` above the field",
        );
    }
    give_schema(field, krate);
    true
}

/// One entry per type, as server-side apply and its merge of several writers need it.
fn give_schema(field: &mut Field, krate: &CratePath) {
    // Who writes a schema of his own wants it so.
    if ["schema_with", "with", "skip"]
        .iter()
        .any(|key| has_key(&field.attrs, "schemars", key))
    {
        return;
    }
    let function = path_text(krate, "conditions::schema");
    let attr: TokenStream = quote!(#[schemars(schema_with = #function)]);
    field.attrs.extend(parsed(attr));
}

/// Attributes of ours; they always parse.
fn parsed(tokens: TokenStream) -> Vec<syn::Attribute> {
    syn::parse::Parser::parse2(syn::Attribute::parse_outer, tokens).unwrap_or_default()
}

/// `Vec<…>`, under whatever path.
fn is_list(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(|segment| segment.ident == "Vec"),
        // A type that a macro hands on comes in a group without delimiters.
        Type::Group(group) => is_list(&group.elem),
        _ => false,
    }
}
