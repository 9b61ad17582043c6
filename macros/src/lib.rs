//! The attribute macros and derives of Kubewright. Use them through `kubewright`, which re-exports them;
//! the attribute of tests through `kubewright_testkit`.

mod args;
mod controller;
mod custom_resource;
mod diag;
#[cfg(test)]
mod expansions;
mod path;
mod predicate;
mod status_conditions;
mod test;
mod value;
mod webhooks;

use proc_macro::TokenStream;

#[doc = include_str!("../docs/controller.md")]
#[proc_macro_attribute]
pub fn controller(attr: TokenStream, item: TokenStream) -> TokenStream {
    controller::controller(attr.into(), &item.into()).into()
}

#[doc = include_str!("../docs/custom_resource.md")]
#[proc_macro_derive(CustomResource, attributes(kube, kubewright))]
pub fn custom_resource(input: TokenStream) -> TokenStream {
    custom_resource::custom_resource(input.into()).into()
}

#[doc = include_str!("../docs/kube_schema.md")]
#[proc_macro_derive(KubeSchema, attributes(x_kube, schemars, validate, kubewright))]
pub fn kube_schema(input: TokenStream) -> TokenStream {
    custom_resource::kube_schema(input.into()).into()
}

#[doc = include_str!("../docs/status_conditions.md")]
#[proc_macro_derive(StatusConditions, attributes(x_kube, serde, schemars, validate, kubewright))]
pub fn status_conditions(input: TokenStream) -> TokenStream {
    status_conditions::status_conditions(input.into()).into()
}

#[doc = include_str!("../docs/test.md")]
#[proc_macro_attribute]
pub fn testkit_test(attr: TokenStream, item: TokenStream) -> TokenStream {
    test::test(attr.into(), &item.into()).into()
}

#[doc = include_str!("../docs/webhooks.md")]
#[proc_macro_attribute]
pub fn webhooks(attr: TokenStream, item: TokenStream) -> TokenStream {
    webhooks::webhooks(attr.into(), &item.into()).into()
}

/// Removes the item that a derive above it has read.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn discard(_attr: TokenStream, _item: TokenStream) -> TokenStream {
    TokenStream::new()
}
