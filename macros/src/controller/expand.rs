//! The expansion: one `impl Declare` of builder calls, and one empty impl per grant.

use std::collections::BTreeSet;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use super::args::{Args, Call, Value};
use super::head::Head;
use super::watch::{Adopt, Kind, WatchOptions};
use crate::path::CratePath;

pub(crate) fn expand(head: &Head, args: &Args) -> TokenStream {
    // Without a primary kind there is no declaration; its absence has been reported.
    let Some((key, primary)) = &args.primary else {
        return TokenStream::new();
    };
    let krate = &args.krate;
    let name = &head.name;
    let (impl_generics, type_generics, where_clause) = head.generics.split_for_impl();
    let receiver = receiver(key);
    let for_ = Ident::new("for_", key.span());
    let declared = quote!(#krate::__private::Definition::<#primary>::of().declare(#receiver.#for_::<#primary>()));
    let body = further_calls(args, &declared);
    let grants = Grants::of(args, primary).expand(head, krate);
    quote! {
        #[automatically_derived]
        impl #impl_generics #krate::Declare for #name #type_generics #where_clause {
            type Primary = #primary;
            fn declare(#receiver: #krate::Declaration<Self>) -> #krate::Declaration<Self> {
                use #krate::__private::NoDefinition as _;
                #body
            }
        }
        #grants
    }
}

/// The calls after `for_`. The finalizer's comes first: its bound is on the receiver, so a failure is told on the key.
fn further_calls(args: &Args, declared: &TokenStream) -> TokenStream {
    let (finalizer, others): (Vec<&Call>, Vec<&Call>) = args.calls.iter().partition(|call| call.key == "finalizer");
    let ordered: Vec<&Call> = finalizer.into_iter().chain(others).collect();
    let Some(first) = ordered.first() else {
        return declared.clone();
    };
    let receiver = receiver(&first.key);
    let calls = ordered.iter().map(|call| builder_call(call, &args.krate));
    quote! {
        let #receiver = #declared;
        #receiver #(#calls)*
    }
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
            let (owns_with, calls) = (method("owns_with"), watch_options(kind, options, krate));
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
    let adopt = options.adopt.as_ref().map(|(key, adopt)| {
        let adopt = match adopt {
            Adopt::Always => quote!(Always),
            Adopt::Labels(selector) => quote!(Labels(#selector.into())),
        };
        quote!(.#key(#krate::declaration::Adopt::#adopt))
    });
    quote!(#predicate #labels #fields #adopt)
}

/// What the watch's functions are given.
fn object_type(kind: &Kind, options: &WatchOptions, krate: &CratePath) -> TokenStream {
    match options.metadata_only {
        Some(_) => metadata_of(kind, krate),
        None => quote!(#kind),
    }
}

fn metadata_of(kind: &Kind, krate: &CratePath) -> TokenStream {
    let span = location(kind);
    quote_spanned!(span=> #krate::kube::core::PartialObjectMeta<#kind>)
}

/// Where the kind stands, for an error about what follows from it.
fn location(kind: &Kind) -> Span {
    crate::args::first_span(&kind.to_token_stream(), Span::call_site()).resolved_at(Span::call_site())
}

/// The grants that follow, each once: a second impl of one would be an error of its own.
#[derive(Default)]
struct Grants {
    seen: BTreeSet<(&'static str, String)>,
    impls: Vec<(&'static str, Option<Kind>, bool)>,
}

impl Grants {
    fn of(args: &Args, primary: &Kind) -> Self {
        let mut grants = Self::default();
        // Owning implies reading and writing, so it goes first.
        for call in &args.calls {
            if let Value::Owns(kind, options) = &call.value {
                grants.add_owned(kind, options.metadata_only.is_some());
            }
        }
        grants.add("Reads", primary);
        for call in &args.calls {
            match &call.value {
                Value::Watches(kind, _, options) if options.metadata_only.is_some() => grants.add_metadata(kind),
                Value::Watches(kind, ..) | Value::Live(kind) => grants.add("Reads", kind),
                Value::Writes(kind) => grants.add("Writes", kind),
                Value::Updates(kind) => grants.add("Updates", kind),
                Value::Plain(_) if call.key == "finalizer" => grants.impls.push(("Finalized", None, false)),
                _ => {}
            }
        }
        grants
    }

    fn add(&mut self, grant: &'static str, kind: &Kind) {
        if self.seen.insert((grant, kind.text())) {
            self.impls.push((grant, Some(kind.clone()), false));
        }
    }

    fn add_owned(&mut self, kind: &Kind, metadata_only: bool) {
        self.add("Owns", kind);
        for implied in ["Reads", "Writes"] {
            self.seen.insert((implied, kind.text()));
        }
        if metadata_only {
            self.add_metadata(kind);
        }
    }

    /// Reading the metadata is its own grant; reading all of `K` includes it.
    fn add_metadata(&mut self, kind: &Kind) {
        let reads_all = self.seen.contains(&("Reads", kind.text()));
        if !reads_all {
            self.add("ReadsMetadata", kind);
        }
        if self.seen.insert(("Reads of metadata", kind.text())) {
            self.impls.push(("Reads", Some(kind.clone()), true));
        }
    }

    fn expand(&self, head: &Head, krate: &CratePath) -> TokenStream {
        let name = &head.name;
        let (impl_generics, type_generics, where_clause) = head.generics.split_for_impl();
        self.impls
            .iter()
            .map(|(grant, kind, metadata)| {
                let Some(kind) = kind else {
                    let grant = Ident::new(grant, Span::call_site());
                    return quote! {
                        #[automatically_derived]
                        impl #impl_generics #krate::#grant for #name #type_generics #where_clause {}
                    };
                };
                let span = location(kind);
                let grant = Ident::new(grant, span);
                let kind = if *metadata {
                    metadata_of(kind, krate)
                } else {
                    quote!(#kind)
                };
                quote_spanned! {span=>
                    #[automatically_derived]
                    impl #impl_generics #krate::#grant<#kind> for #name #type_generics #where_clause {}
                }
            })
            .collect()
    }
}
