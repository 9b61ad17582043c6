//! `#[controller(…)]`: head of the item → arguments → rules → builder calls.

mod args;
mod complete;
mod expand;
mod grants;
mod head;
mod keys;
mod kinds;
pub(crate) mod literals;
#[cfg(test)]
mod messages;
mod options;
mod rule;
mod settings;
mod unknown;
mod validate;

use proc_macro2::TokenStream;

pub(crate) use settings::value_of;
pub(crate) use unknown::listed;

use crate::diag::Diag;

pub(crate) fn controller(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let mut diag = Diag::default();
    let head = head::parse(item, &mut diag);
    let args = read(attr, &mut diag);
    let declaration = head.map(|head| expand::expand(&head, &args, &mut diag));
    let completion = complete::expand(&args);
    let errors = diag.into_tokens();
    // The user's item comes first and untouched, so that an error of ours causes no second one.
    quote::quote! { #item #completion #errors #declaration }
}

fn read(attr: TokenStream, diag: &mut Diag) -> args::Args {
    let args = args::parse(attr, diag);
    validate::check(&args, diag);
    args
}
