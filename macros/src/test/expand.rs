//! The test that libtest sees: it holds the user's function, untouched, and hands it to the testkit.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::args::Args;
use super::head::Head;

pub(crate) fn expand(head: &Head, args: &Args) -> TokenStream {
    let Head {
        attributes,
        conditions,
        function,
        visibility,
        name,
        parameter,
        returns,
        should_panic,
    } = head;
    let krate = &args.krate;
    let text = name.to_string();
    let options = args.calls.iter().map(|(key, value)| {
        let method = Ident::new(&key.to_string(), key.span().resolved_at(Span::call_site()));
        quote!(.#method(#value))
    });
    let should_panic = should_panic.then(|| quote!(.should_panic()));
    // The types are the user's tokens, so that what does not fit is reported on them.
    let run = match parameter {
        Some(parameter) => quote!(run_with::<#parameter, #returns, _, _>),
        None => quote!(run::<#returns, _, _>),
    };
    let run = quote_spanned!(name.span().resolved_at(Span::call_site())=> .#run(#name));
    let body = quote! {
        #function
        #krate::__private::Test::new(
            ::core::module_path!(),
            #text,
            ::core::option_env!("CARGO_PKG_NAME"),
        )
        #(#options)*
        #should_panic
        #run
    };
    // rustc drops a test unread where it builds no tests; `cargo check` should tell of mistakes in it all the same.
    quote! {
        #attributes
        #[::core::prelude::v1::test]
        #visibility fn #name() { #body }
        #(#conditions)*
        #[cfg(not(test))]
        const _: fn() = || { #body };
    }
}
