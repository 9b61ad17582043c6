//! The test that libtest sees: it holds the user's function, untouched, and hands it to the testkit.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};

use super::args::Args;
use super::head::Head;

pub(crate) fn expand(head: &Head, args: &Args) -> TokenStream {
    let Head {
        attributes,
        function,
        visibility,
        name,
        takes_cluster,
        should_panic,
    } = head;
    let krate = &args.krate;
    let text = name.to_string();
    let options = args.calls.iter().map(|(key, value)| {
        let method = Ident::new(&key.to_string(), key.span().resolved_at(Span::call_site()));
        quote!(.#method(#value))
    });
    let should_panic = should_panic.then(|| quote!(.should_panic()));
    let run = if *takes_cluster { "run_with_cluster" } else { "run" };
    let run = Ident::new(run, Span::call_site());
    // Where the function does not fit, the error belongs on its name.
    let run = quote_spanned!(name.span().resolved_at(Span::call_site())=> .#run(#name));
    quote! {
        #attributes
        #[::core::prelude::v1::test]
        #visibility fn #name() {
            #function
            #krate::__private::Test::new(
                ::core::module_path!(),
                #text,
                ::core::option_env!("CARGO_PKG_NAME"),
            )
            #(#options)*
            #should_panic
            #run
        }
    }
}
