//! A block that only rust-analyzer sees: each key becomes the field of a documented struct, so that the editor
//! completes and explains it, on broken input too.
//!
//! rust-analyzer expands twice: once what is written, once with a name put in at the caret. It looks up in the first
//! expansion what stands before that name in the second. At an empty place nothing is written, so one more field closes
//! each list: what stands before it has the same place as what would stand before the name.

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;

use super::args::Args;
use crate::args::{Arg, Shape};
use crate::diag::Diag;
use crate::path::CratePath;

/// Keys that take a list of keys: the struct of these, one of its fields, and whether a kind stands before them.
const LISTS: &[(&str, &str, &str, bool)] = &[
    ("owns", "OwnsKeys", "predicate", true),
    ("tracks", "OwnsKeys", "predicate", true),
    ("watches", "WatchesKeys", "map", true),
    ("rbac", "RbacKeys", "group", false),
    ("backoff", "BackoffKeys", "min", false),
    ("rate_limit", "RateLimitKeys", "burst", false),
];

pub(crate) fn expand(args: &Args) -> TokenStream {
    let krate = &args.krate;
    let keys = args.written.iter().filter_map(field);
    let lists = args.written.iter().filter_map(|arg| list(arg, krate));
    quote! {
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            const _: () = {
                fn __controller(__k: #krate::__private::ControllerKeys) { #(let _ = __k.#keys;)* let _ = __k.r#for; }
                #(#lists)*
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

/// The keys inside the parentheses of one that takes a list.
fn list(arg: &Arg, krate: &CratePath) -> Option<TokenStream> {
    let Shape::List(group) = &arg.shape else { return None };
    let name = arg.name();
    let (_, keys, last, kind_first) = LISTS.iter().find(|(key, ..)| *key == name)?;
    let parts = crate::args::split(group.stream(), &mut Diag::default());
    let keys_from = usize::from(*kind_first);
    let written = parts.into_iter().skip(keys_from);
    let written = written.flat_map(|part| crate::args::parse(part.into_iter().collect(), &[], &mut Diag::default()));
    let written = written.filter_map(|arg| field(&arg));
    let ident = |name: &str| Ident::new(name, Span::call_site());
    let (keys, last) = (ident(keys), ident(last));
    Some(quote! { const _: fn(#krate::__private::#keys) = |__k| { #(let _ = __k.#written;)* let _ = __k.#last; }; })
}
