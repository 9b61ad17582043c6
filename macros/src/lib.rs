//! The attribute macros and derives of Kubewright. Use them through `kubewright`, which re-exports them.

mod args;
mod controller;
mod custom_resource;
mod diag;
#[cfg(test)]
mod expansions;
mod path;
mod predicate;
mod value;

use proc_macro::TokenStream;

/// Declares a controller.
#[proc_macro_attribute]
pub fn controller(attr: TokenStream, item: TokenStream) -> TokenStream {
    controller::controller(attr.into(), item.into()).into()
}

/// Makes a custom resource of its spec: kube's derive, without kube in the user's manifest.
#[proc_macro_derive(CustomResource, attributes(kube, kubewright))]
pub fn custom_resource(input: TokenStream) -> TokenStream {
    custom_resource::custom_resource(input.into()).into()
}

/// A JSON schema with Kubernetes validation rules: kube's derive, without kube in the user's manifest.
#[proc_macro_derive(KubeSchema, attributes(x_kube, schemars, validate, kubewright))]
pub fn kube_schema(input: TokenStream) -> TokenStream {
    custom_resource::kube_schema(input.into()).into()
}

/// Removes the item that a derive above it has read.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn discard(_attr: TokenStream, _item: TokenStream) -> TokenStream {
    TokenStream::new()
}
