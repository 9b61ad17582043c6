//! The expansion: one `impl Webhooks` of builder calls.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::args::{Args, Call};
use crate::diag::Diag;

pub(super) fn expand(name: &Ident, args: &Args, diag: &mut Diag) -> TokenStream {
    let krate = &args.krate;
    let Some((key, kind)) = &args.kind else {
        // The error stands in the place of the kind, as a length that cannot be computed: rustc then says nothing about
        // what would follow from a kind that is not there.
        let error = diag.take_first();
        return quote! {
            #[automatically_derived]
            impl #krate::webhook::Webhooks for #name {
                type Kind = [(); #error];
                fn declare(__d: #krate::webhook::Declaration<Self>) -> #krate::webhook::Declaration<Self> { __d }
            }
        };
    };
    let receiver = Ident::new("__d", key.span());
    let for_ = Ident::new("for_", key.span());
    // What gets lost is said of versions that are there.
    let (lost, others): (Vec<&Call>, Vec<&Call>) = args.calls.iter().partition(|call| call.key == "loses");
    let calls = others.into_iter().chain(lost).map(|call| {
        let (method, values) = (&call.key, &call.values);
        let kind = call.kind.as_ref().map(|kind| quote!(::<#kind>));
        quote!(.#method #kind (#values))
    });
    quote! {
        #[automatically_derived]
        impl #krate::webhook::Webhooks for #name {
            type Kind = #kind;
            fn declare(#receiver: #krate::webhook::Declaration<Self>) -> #krate::webhook::Declaration<Self> {
                #receiver.#for_::<#kind>() #(#calls)*
            }
        }
    }
}
