use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, Data, DeriveInput, Fields};

use super::attrs::{crate_path, has_key, path_text};
use super::described;
use crate::diag::Diag;
use crate::path::CratePath;

/// `#[derive(CustomResource)]`
pub(crate) fn custom_resource(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|error| error.to_compile_error())
}

fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let input: DeriveInput = syn::parse2(input)?;
    let kube: Vec<&Attribute> = input.attrs.iter().filter(|attr| attr.path().is_ident("kube")).collect();
    let krate = crate_path(&input.attrs)?;
    // Who writes `crates(…)` wants it so.
    let crates = (!has_key(&input.attrs, "kube", "crates")).then(|| crates(&krate));
    let root_schema = has_key(&input.attrs, "kube", "validation").then(|| root_schema(&krate));
    let vis = &input.vis;
    let body = body(&input)?;
    let mut diag = Diag::default();
    let kube = described::mend(&kube, &input.ident, &mut diag);
    let errors = diag.into_tokens();
    Ok(quote! {
        #errors
        #[derive(#krate::__private::CustomResource)]
        #[#krate::__private::discard]
        #kube
        #crates
        #root_schema
        #vis #body
    })
}

/// The item as far as kube's derive looks at it.
fn body(input: &DeriveInput) -> syn::Result<TokenStream> {
    let ident = &input.ident;
    match &input.data {
        Data::Enum(_) => Ok(quote!(enum #ident {})),
        // Only then are the fields' names looked at.
        Data::Struct(data) if has_key(&input.attrs, "kube", "no_spec") => Ok(match &data.fields {
            Fields::Named(fields) => {
                let names = fields.named.iter().filter_map(|field| field.ident.as_ref());
                quote!(struct #ident { #(#names: ()),* })
            }
            Fields::Unnamed(_) => quote!(struct #ident();),
            Fields::Unit => quote!(struct #ident;),
        }),
        Data::Struct(_) => Ok(quote!(struct #ident;)),
        Data::Union(data) => Err(syn::Error::new_spanned(
            data.union_token,
            "a custom resource is a struct or an enum: write `struct`",
        )),
    }
}

fn crates(krate: &CratePath) -> TokenStream {
    let path = |below| path_text(krate, below);
    let (kube, kube_core, k8s_openapi) = (path("kube"), path("kube::core"), path("k8s_openapi"));
    let (schemars, serde, serde_json) = (
        path("__private::schemars"),
        path("__private::serde"),
        path("__private::serde_json"),
    );
    quote! {
        #[kube(crates(
            kube = #kube,
            kube_core = #kube_core,
            k8s_openapi = #k8s_openapi,
            schemars = #schemars,
            serde = #serde,
            serde_json = #serde_json
        ))]
    }
}

/// With a validation rule, kube's derive puts `KubeSchema` on the resource, which needs the paths too.
fn root_schema(krate: &CratePath) -> TokenStream {
    let attr = super::schema::crates(krate).to_string();
    quote!(#[kube(attr = #attr)])
}
