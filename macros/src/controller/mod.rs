//! `#[controller(…)]`: head of the item → arguments → rules → builder calls.

mod args;
mod complete;
mod expand;
mod head;
mod keys;
mod literals;
mod rule;
mod validate;
mod watch;

use proc_macro2::TokenStream;

use crate::diag::Diag;

pub(crate) fn controller(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let mut diag = Diag::default();
    let head = head::parse(item, &mut diag);
    let args = args::parse(attr, &mut diag);
    validate::check(&args, &mut diag);
    let declaration = head.map(|head| expand::expand(&head, &args));
    let completion = complete::expand(&args);
    let errors = diag.into_tokens();
    // The user's item comes first and untouched, so that an error of ours causes no second one.
    quote::quote! { #item #completion #errors #declaration }
}
