//! A block that only rust-analyzer sees: each option becomes the field of a documented struct, so that the editor
//! completes and explains it, on broken input too.

use proc_macro2::TokenStream;
use quote::quote;

use super::args::Args;

pub(crate) fn expand(args: &Args) -> TokenStream {
    let krate = &args.krate;
    // `crate` cannot be a field.
    let keys = args
        .written
        .iter()
        .filter(|arg| arg.name() != "crate")
        .map(|arg| &arg.key);
    quote! {
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            const _: () = {
                fn __test(__k: #krate::__private::TestKeys) { #(let _ = __k.#keys;)* let _ = __k.seed; }
            };
        };
    }
}
