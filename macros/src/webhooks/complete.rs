//! A block that only rust-analyzer sees: each key becomes the field of a documented struct. One more closes the list, as
//! for controllers.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::args::Args;

pub(super) fn expand(args: &Args) -> TokenStream {
    let krate = &args.krate;
    let keys = args.written.iter().filter_map(|arg| match &*arg.name() {
        "crate" => None,
        "for" => Some(Ident::new_raw("for", arg.key.span())),
        _ => Some(arg.key.clone()),
    });
    quote! {
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            const _: () = {
                fn __webhooks(__k: #krate::__private::WebhookKeys) { #(let _ = __k.#keys;)* let _ = __k.r#for; }
            };
        };
    }
}
