//! A block that only rust-analyzer sees: each key becomes the field of a documented struct, so that the editor
//! completes and explains it, on broken input too.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::args::Args;
use crate::args::{Arg, Shape};
use crate::diag::Diag;

pub(crate) fn expand(args: &Args) -> TokenStream {
    let krate = &args.krate;
    let keys = args.written.iter().filter_map(field);
    let watch_keys = args.written.iter().flat_map(inner_keys).filter_map(|arg| field(&arg));
    let watch_keys = watch_keys.collect::<Vec<_>>();
    let watch = (!watch_keys.is_empty()).then(|| {
        quote! { fn __watch(__k: #krate::__private::WatchKeys) { #(let _ = __k.#watch_keys;)* } }
    });
    quote! {
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            const _: () = {
                fn __controller(__k: #krate::__private::ControllerKeys) { #(let _ = __k.#keys;)* }
                #watch
            };
        };
    }
}

/// The key as a field's name; `for` needs `r#`, and `crate` cannot be one.
fn field(arg: &Arg) -> Option<Ident> {
    match &*arg.name() {
        "crate" => None,
        "for" => Some(Ident::new_raw("for", arg.key.span())),
        _ => Some(arg.key.clone()),
    }
}

/// The keys after the kind in `owns(K, …)` and `watches(K, …)`.
fn inner_keys(arg: &Arg) -> Vec<Arg> {
    match &arg.shape {
        Shape::List(group) if matches!(&*arg.name(), "owns" | "watches") => {
            let rest = crate::args::split(group.stream(), &mut Diag::default())
                .into_iter()
                .skip(1);
            rest.flat_map(|part| crate::args::parse(part.into_iter().collect(), &[], &mut Diag::default()))
                .collect()
        }
        _ => Vec::new(),
    }
}
