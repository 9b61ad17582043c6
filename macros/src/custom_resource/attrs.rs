//! What the twins need to know of the item's attributes, read from tokens: kube's derive checks them.

use proc_macro2::TokenTree;
use syn::{Attribute, Path};

use crate::path::CratePath;

/// Whether one of the `#[helper(…)]` attributes has this key.
pub(crate) fn has_key(attrs: &[Attribute], helper: &str, key: &str) -> bool {
    attrs.iter().filter(|attr| attr.path().is_ident(helper)).any(|attr| {
        let syn::Meta::List(list) = &attr.meta else {
            return false;
        };
        let mut at_start = true;
        list.tokens.clone().into_iter().any(|token| {
            let found = at_start && matches!(&token, TokenTree::Ident(ident) if ident == key);
            at_start = matches!(&token, TokenTree::Punct(p) if p.as_char() == ',');
            found
        })
    })
}

/// `#[kubewright(crate = path)]`, for a framework under another name.
pub(crate) fn crate_path(attrs: &[Attribute]) -> syn::Result<CratePath> {
    for attr in attrs.iter().filter(|attr| attr.path().is_ident("kubewright")) {
        let mut path = None;
        attr.parse_nested_meta(|meta| {
            if meta.path.is_ident("crate") {
                path = Some(meta.value()?.parse::<Path>()?);
                Ok(())
            } else {
                Err(meta.error(
                    "`#[kubewright(…)]` on a derive has one key: write `#[kubewright(crate = my_crate::kubewright)]`",
                ))
            }
        })?;
        if let Some(path) = path {
            return Ok(CratePath::given(path));
        }
    }
    Ok(CratePath::default())
}

/// A path below the framework's, as kube's `crates(…)` takes it: in a string.
pub(crate) fn path_text(krate: &CratePath, below: &str) -> String {
    let root = quote::quote!(#krate).to_string().replace(' ', "");
    format!("{root}::{below}")
}
