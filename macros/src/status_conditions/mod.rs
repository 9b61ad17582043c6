//! `#[derive(StatusConditions)]`: the schema that server-side apply needs for conditions, and the trait that keeps them.
//!
//! schemars' derive gets a twin of the item, whose field `conditions` carries a schema of ours; the twin is removed as
//! that of `#[derive(CustomResource)]` is.

mod field;

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput};

use self::field::{CONDITIONS, conditions};
use crate::custom_resource::{crate_path, crates_of_schema, has_key, path_text};
use crate::diag::Diag;

/// Attributes that schemars' derive reads, and kube's, which stands in its place where rules are given.
const READ: [&str; 6] = ["x_kube", "serde", "schemars", "validate", "garde", "doc"];

/// `#[derive(StatusConditions)]`
pub(crate) fn status_conditions(input: TokenStream) -> TokenStream {
    expand(input).unwrap_or_else(|error| error.to_compile_error())
}

fn expand(input: TokenStream) -> syn::Result<TokenStream> {
    let mut input: DeriveInput = syn::parse2(input)?;
    let krate = crate_path(&input.attrs)?;
    let mut diag = Diag::default();
    let has_rules = has_rules(&input);
    let found = conditions(&mut input, &krate, &mut diag);
    input.attrs.retain(is_read);
    let derive = if has_rules {
        let crates = (!has_key(&input.attrs, "x_kube", "crates")).then(|| {
            let crates = crates_of_schema(&krate);
            quote!(#[#crates])
        });
        quote! {
            #[derive(#krate::__private::KubeSchema)]
            #[#krate::__private::discard]
            #crates
        }
    } else {
        let schemars = path_text(&krate, "__private::schemars");
        let named = (!has_key(&input.attrs, "schemars", "crate")).then(|| quote!(#[schemars(crate = #schemars)]));
        quote! {
            #[derive(#krate::__private::schemars::JsonSchema)]
            #[#krate::__private::discard]
            #named
        }
    };
    let errors = diag.into_tokens();
    // Without the field there is nothing to keep, and every use of the trait would be an error of its own.
    let keeps = found.then(|| {
        let ident = &input.ident;
        let (generics, of, bounds) = input.generics.split_for_impl();
        let field = quote::format_ident!("{CONDITIONS}");
        quote! {
            #[automatically_derived]
            impl #generics #krate::conditions::StatusConditions for #ident #of #bounds {
                fn conditions(&self) -> &[#krate::conditions::Condition] {
                    &self.#field
                }
                fn conditions_mut(&mut self) -> &mut ::std::vec::Vec<#krate::conditions::Condition> {
                    &mut self.#field
                }
            }
        }
    });
    Ok(quote! {
        #errors
        #derive
        #input
        #keeps
    })
}

/// Whether kube's rules stand on the item or its fields.
fn has_rules(input: &DeriveInput) -> bool {
    let is_rule = |attr: &Attribute| attr.path().is_ident("x_kube");
    let on_a_field = match &input.data {
        syn::Data::Struct(data) => data.fields.iter().any(|field| field.attrs.iter().any(is_rule)),
        _ => false,
    };
    on_a_field || input.attrs.iter().any(is_rule)
}

fn is_read(attr: &Attribute) -> bool {
    READ.iter().any(|name| attr.path().is_ident(name))
}
