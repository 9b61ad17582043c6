//! `#[kubewright_testkit::test]`: head of the function → options → a `#[test]` around it.

mod args;
mod complete;
mod expand;
mod head;

use proc_macro2::TokenStream;
use quote::quote;

use crate::diag::Diag;

pub(crate) fn test(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let mut diag = Diag::default();
    let head = head::parse(item, &mut diag);
    let args = args::parse(attr, &mut diag);
    let completion = complete::expand(&args);
    let errors = diag.into_tokens();
    match head {
        Some(head) => {
            let test = expand::expand(&head, &args);
            quote! { #test #completion #errors }
        }
        // A method; what serves the editor has no place in an `impl`.
        None if head::is_method(item) => quote! { #[allow(dead_code)] #item #errors },
        // What is no test is left as it was written, so that an error of ours causes no second one.
        None => quote! { #[allow(dead_code)] #item #completion #errors },
    }
}
