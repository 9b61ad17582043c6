//! The expansion: one `impl Declare` of builder calls, and one empty impl per grant.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use super::args::{Args, Call, Value};
use super::grants::{self, Grants, metadata_of};
use super::head::Head;
use super::kinds::Kind;
use super::options::{Adopt, WatchOptions};
use crate::diag::Diag;
use crate::path::CratePath;

pub(crate) fn expand(head: &Head, args: &Args, diag: &mut Diag) -> TokenStream {
    let krate = &args.krate;
    let ty = &head.ty;
    let (impl_generics, _, where_clause) = head.generics.split_for_impl();
    let grants = if diag.has_lost() {
        grants::all(head, krate)
    } else {
        Grants::of(args).expand(head, krate)
    };
    let Some((key, primary)) = &args.primary else {
        // The error stands in the place of the primary kind, as a length that cannot be computed: rustc then says
        // nothing about what would follow from a kind that is not there.
        let error = diag.take_first();
        return quote! {
            #[automatically_derived]
            impl #impl_generics #krate::Declare for #ty #where_clause {
                type Primary = [(); #error];
                fn declare(__d: #krate::Declaration<Self>) -> #krate::Declaration<Self> { __d }
            }
            #grants
        };
    };
    let receiver = receiver(key);
    let for_ = Ident::new("for_", key.span());
    let declared = quote!(#krate::__private::Definition::<#primary>::of().declare(#receiver.#for_::<#primary>()));
    let body = if head.unfit {
        quote!(#receiver)
    } else {
        further_calls(args, &declared)
    };
    let handouts = handouts(args);
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Declare for #ty #where_clause {
            type Primary = #primary;
            fn declare(#receiver: #krate::Declaration<Self>) -> #krate::Declaration<Self> {
                use #krate::__private::NoDefinition as _;
                #handouts
                #body
            }
        }
        #grants
    }
}

/// The calls after `for_`. The finalizer's comes first: its bound is on the receiver, so a failure is told on the key.
/// Each stretch of calls under no condition, and each call under one, is a statement of its own.
fn further_calls(args: &Args, declared: &TokenStream) -> TokenStream {
    let (finalizer, others): (Vec<&Call>, Vec<&Call>) = args.calls.iter().partition(|call| call.key == "finalizer");
    let ordered: Vec<&Call> = finalizer.into_iter().chain(others).collect();
    let mut statements = TokenStream::new();
    let mut value = declared.clone();
    for stretch in ordered.chunk_by(|a, b| a.cfg.is_none() && b.cfg.is_none()) {
        let receiver = receiver(&stretch[0].key);
        let calls = stretch.iter().map(|call| builder_call(call, &args.krate));
        let called = quote!(#receiver #(#calls)*);
        statements.extend(quote!(let #receiver = #value;));
        value = match &stretch[0].cfg {
            None => called,
            Some(cfg) => {
                statements.extend(quote!(#[cfg(#cfg)] let #receiver = #called;));
                quote!(#receiver)
            }
        };
    }
    quote!(#statements #value)
}

/// Kinds whose objects hand out permissions demand a rule, which only `rbac(…)` gives. The names are those of the four
/// kinds; whether it is one of them is for the type to say.
fn handouts(args: &Args) -> TokenStream {
    let krate = &args.krate;
    let asked = args.calls.iter().filter_map(|call| {
        let kind = call.value.handed_out()?;
        let cfg = call.cfg.as_ref().map(|cfg| quote!(#[cfg(#cfg)]));
        let span = grants::location(kind);
        let ask = quote_spanned!(span=> #cfg #krate::__private::Handout::<#kind>::of().by::<Self>(););
        Some(ask)
    });
    let asked: Vec<TokenStream> = asked.collect();
    let fallback = (!asked.is_empty()).then(|| quote!(use #krate::__private::HandsOutNothing as _;));
    quote!(#fallback #(#asked)*)
}

/// `__d` with a key's span: a bound that fails is told there and not on the whole attribute. Each use stands with its
/// own binding, since keys that different macros wrote see different names.
fn receiver(key: &Ident) -> Ident {
    Ident::new("__d", key.span())
}

fn builder_call(call: &Call, krate: &CratePath) -> TokenStream {
    let span = call.key.span();
    let key = &call.key;
    let method = |name: &str| Ident::new(name, span);
    match &call.value {
        Value::Owns(kind, options) if options.is_empty() => quote!(.#key::<#kind>()),
        Value::Owns(kind, options) => {
            let owns_with = method(&format!("{key}_with"));
            let calls = watch_options(kind, options, krate);
            let metadata_only = options.metadata_only.as_ref().map(|key| quote!(.#key()));
            quote!(.#owns_with::<#kind>(|__w| __w #metadata_only #calls))
        }
        // Its missing map function has been reported.
        Value::Watches(_, None, _) => TokenStream::new(),
        Value::Watches(kind, Some(map), options) if options.is_empty() => quote!(.#key::<#kind, _>(#map)),
        Value::Watches(kind, Some(map), options) => {
            let name = if options.metadata_only.is_some() {
                "watches_metadata"
            } else {
                "watches_with"
            };
            let (watches_with, calls) = (method(name), watch_options(kind, options, krate));
            quote!(.#watches_with::<#kind, _>(#map, |__w| __w #calls))
        }
        Value::Live(kind) | Value::Writes(kind) | Value::Updates(kind) => quote!(.#key::<#kind>()),
        Value::Rbac(rule) => {
            let rule = rule.expand(krate);
            quote!(.#key(#rule))
        }
        Value::EventFilter(predicate) => {
            let predicate = predicate.expand(None, krate);
            quote!(.#key(#predicate))
        }
        Value::Source(function) => quote!(.#key(#function)),
        Value::Backoff { min, max } => {
            let min = min.as_ref().map(|d| quote!(.min(#d)));
            let max = max.as_ref().map(|d| quote!(.max(#d)));
            quote!(.#key(#krate::declaration::Backoff::default() #min #max))
        }
        Value::RateLimit { per_second, burst } => quote!(.#key(#per_second, #burst)),
        Value::RetiredFinalizers(names) => {
            let retired_finalizer = method("retired_finalizer");
            quote!(#(.#retired_finalizer(#names))*)
        }
        Value::OwnEvents(variant) => quote!(.#key(#krate::declaration::OwnEvents::#variant)),
        Value::Flag => quote!(.#key()),
        Value::PreviousManagers(names) => {
            let previous_manager = method("previous_manager");
            quote!(#(.#previous_manager(#names))*)
        }
        Value::Strip(paths) => quote!(.#key([#(#paths),*])),
        Value::Plain(value) => quote!(.#key(#value)),
        Value::Duration(duration) => quote!(.#key(#duration)),
    }
}

fn watch_options(kind: &Kind, options: &WatchOptions, krate: &CratePath) -> TokenStream {
    let predicate = options.predicate.as_ref().map(|(key, predicate)| {
        let object = object_type(kind, options, krate);
        let predicate = predicate.expand(Some(&object), krate);
        quote!(.#key(#predicate))
    });
    let labels = options.labels.as_ref().map(|(key, text)| quote!(.#key(#text)));
    let fields = options.fields.as_ref().map(|(key, text)| quote!(.#key(#text)));
    let strip = options.strip.as_ref().map(|(key, paths)| quote!(.#key([#(#paths),*])));
    let adopt = options.adopt.as_ref().map(|(key, adopt)| {
        let adopt = match adopt {
            Adopt::Always => quote!(Always),
            Adopt::Labels(selector) => quote!(Labels(#selector.into())),
        };
        quote!(.#key(#krate::declaration::Adopt::#adopt))
    });
    quote!(#predicate #labels #fields #strip #adopt)
}

/// What the watch's functions are given.
fn object_type(kind: &Kind, options: &WatchOptions, krate: &CratePath) -> TokenStream {
    match options.metadata_only {
        Some(_) => metadata_of(kind, krate),
        None => quote!(#kind),
    }
}
