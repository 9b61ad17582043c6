use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput};

use super::attrs::{crate_path, has_key, path_text};
use crate::path::CratePath;

/// Attributes that kube's derive reads.
const READ: [&str; 5] = ["x_kube", "serde", "schemars", "validate", "doc"];

/// `#[derive(KubeSchema)]`
pub(crate) fn kube_schema(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|error| error.to_compile_error())
}

fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let mut input: DeriveInput = syn::parse2(input)?;
    let krate = crate_path(&input.attrs)?;
    let crates = (!has_key(&input.attrs, "x_kube", "crates")).then(|| {
        let crates = crates(&krate);
        quote!(#[#crates])
    });
    input.attrs.retain(is_read);
    // The attribute that removes the twin comes before those of other derives, which would be unknown there.
    Ok(quote! {
        #[derive(#krate::__private::KubeSchema)]
        #[#krate::__private::discard]
        #crates
        #input
    })
}

/// `x_kube(crates(…))`
pub(crate) fn crates(krate: &CratePath) -> TokenStream {
    let path = |below| path_text(krate, below);
    let (kube_core, schemars) = (path("kube::core"), path("__private::schemars"));
    let (serde, serde_json) = (path("__private::serde"), path("__private::serde_json"));
    quote!(x_kube(crates(kube_core = #kube_core, schemars = #schemars, serde = #serde, serde_json = #serde_json)))
}

fn is_read(attr: &Attribute) -> bool {
    READ.iter().any(|name| attr.path().is_ident(name))
}
