//! The empty impls that say what the controller may do: one per kind and right.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};

use super::args::{Args, Value};
use super::head::Head;
use super::kinds::{Kind, Names};
use crate::path::CratePath;

/// What is granted on what: a kind, its metadata, all kinds, or the controller itself.
#[derive(Clone)]
enum Of {
    Kind(Kind),
    Metadata(Kind),
    Any,
    Controller,
}

/// One right: when it holds, and when another one that implies it holds already.
struct Grant {
    of: Of,
    when: Vec<Option<TokenStream>>,
    unless: Vec<TokenStream>,
}

/// The grants that follow from the keys, each once: a second impl of one would be an error of its own.
#[derive(Default)]
pub(super) struct Grants {
    names: Names,
    order: Vec<(&'static str, String)>,
    all: BTreeMap<(&'static str, String), Grant>,
}

impl Grants {
    pub(super) fn of(args: &Args) -> Self {
        let mut grants = Self::default();
        // Owning implies reading and writing, so it goes first.
        for call in &args.calls {
            if let Value::Owns(kind, _) = &call.value {
                grants.add("Owns", Of::Kind(kind.clone()), call.cfg.as_ref());
            }
        }
        if let Some((_, primary)) = &args.primary {
            grants.add("Reads", Of::Kind(primary.clone()), None);
        }
        let hands_out = args.calls.iter().any(|call| call.value.handed_out().is_some());
        for call in &args.calls {
            let cfg = call.cfg.as_ref();
            let mut add = |grant, kind: &Kind| grants.add(grant, Of::Kind(kind.clone()), cfg);
            match &call.value {
                // Reading all of a kind implies reading its metadata, so that goes last.
                Value::Watches(_, _, options) if options.metadata_only.is_some() => {}
                Value::Watches(kind, ..) | Value::Live(kind) => add("Reads", kind),
                Value::Writes(kind) => add("Writes", kind),
                Value::Updates(kind) => add("Updates", kind),
                Value::Rbac(_) if hands_out => grants.add("HandsOut", Of::Any, cfg),
                Value::Plain(_) if call.key == "finalizer" => grants.add("Finalized", Of::Controller, cfg),
                Value::Plain(_) if call.key == "ungranted_client" => grants.add("Ungranted", Of::Controller, cfg),
                _ => {}
            }
        }
        for call in &args.calls {
            if let Value::Owns(kind, options) | Value::Watches(kind, _, options) = &call.value
                && options.metadata_only.is_some()
            {
                grants.add_metadata(kind, call.cfg.as_ref());
            }
        }
        grants
    }

    /// Owning a kind, and reading all of it, imply lesser rights on it.
    fn add(&mut self, grant: &'static str, of: Of, cfg: Option<&TokenStream>) {
        let text = of.text(&mut self.names);
        let place = (grant, text.clone());
        let implied_by: &[&'static str] = match grant {
            "Reads" | "Writes" => &["Owns"],
            "ReadsMetadata" => &["Owns", "Reads"],
            _ => &[],
        };
        let mut unless = Vec::new();
        for stronger in implied_by {
            let Some(held) = self.all.get(&(*stronger, text.clone())) else {
                continue;
            };
            for when in &held.when {
                match when {
                    None => return,
                    Some(cfg) => unless.push(cfg.clone()),
                }
            }
        }
        if !self.all.contains_key(&place) {
            self.order.push(place.clone());
        }
        let entry = self.all.entry(place).or_insert_with(|| Grant {
            of,
            when: Vec::new(),
            unless,
        });
        entry.when.push(cfg.cloned());
    }

    /// Reading the metadata is its own grant; reading all of `K` includes it.
    fn add_metadata(&mut self, kind: &Kind, cfg: Option<&TokenStream>) {
        self.add("ReadsMetadata", Of::Kind(kind.clone()), cfg);
        self.add("Reads", Of::Metadata(kind.clone()), cfg);
    }

    pub(super) fn expand(&self, head: &Head, krate: &CratePath) -> TokenStream {
        let (impl_generics, _, where_clause) = head.generics.split_for_impl();
        let ty = &head.ty;
        let with_kind = with_kind(head);
        let (impl_with_kind, _, _) = with_kind.split_for_impl();
        let impls = self.order.iter().map(|place| {
            let grant = &self.all[place];
            let impl_generics = match grant.of {
                Of::Any => quote!(#impl_with_kind),
                _ => quote!(#impl_generics),
            };
            let cfg = grant.cfg();
            let span = grant.of.span();
            let word = Ident::new(place.0, span);
            let of = grant.of.expand(krate);
            quote_spanned! {span=>
                #cfg
                #[automatically_derived]
                impl #impl_generics #krate::#word #of for #ty #where_clause {}
            }
        });
        impls.collect()
    }
}

/// Every right on every kind. It stands where a key could not be read: what that key would have granted must not be
/// reported as missing, too.
pub(super) fn all(head: &Head, krate: &CratePath) -> TokenStream {
    let ty = &head.ty;
    let (impl_generics, _, where_clause) = head.generics.split_for_impl();
    let with_kind = with_kind(head);
    let (impl_with_kind, _, _) = with_kind.split_for_impl();
    let of_kinds = ["Owns", "Updates", "HandsOut"].map(|grant| Ident::new(grant, Span::call_site()));
    let of_itself = ["Finalized", "Ungranted"].map(|grant| Ident::new(grant, Span::call_site()));
    quote! {
        #(#[automatically_derived] impl #impl_with_kind #krate::#of_kinds<__K> for #ty #where_clause {})*
        #(#[automatically_derived] impl #impl_generics #krate::#of_itself for #ty #where_clause {})*
    }
}

/// The controller's parameters, and one for a kind.
fn with_kind(head: &Head) -> syn::Generics {
    let mut generics = head.generics.clone();
    let kind = Ident::new("__K", Span::call_site());
    generics.params.push(syn::GenericParam::Type(kind.into()));
    generics
}

impl Grant {
    /// The condition under which the grant is written, where it depends on one.
    fn cfg(&self) -> Option<TokenStream> {
        let when: Option<Vec<&TokenStream>> = self.when.iter().map(Option::as_ref).collect();
        let (when, unless) = (when.unwrap_or_default(), &self.unless);
        let when = match &when[..] {
            [] => None,
            [one] => Some(one.to_token_stream()),
            several => Some(quote!(any(#(#several),*))),
        };
        match (when, &unless[..]) {
            (None, []) => None,
            (Some(when), []) => Some(quote!(#[cfg(#when)])),
            (None, unless) => Some(quote!(#[cfg(not(any(#(#unless),*)))])),
            (Some(when), unless) => Some(quote!(#[cfg(all(#when, not(any(#(#unless),*))))])),
        }
    }
}

impl Of {
    fn text(&self, names: &mut Names) -> String {
        match self {
            Self::Kind(kind) => names.canonical(kind),
            Self::Metadata(kind) => format!("metadata of {}", names.canonical(kind)),
            Self::Any | Self::Controller => String::new(),
        }
    }

    fn span(&self) -> Span {
        match self {
            Self::Kind(kind) | Self::Metadata(kind) => location(kind),
            Self::Any | Self::Controller => Span::call_site(),
        }
    }

    fn expand(&self, krate: &CratePath) -> TokenStream {
        match self {
            Self::Kind(kind) => quote!(<#kind>),
            Self::Metadata(kind) => {
                let metadata = metadata_of(kind, krate);
                quote!(<#metadata>)
            }
            Self::Any => quote!(<__K>),
            Self::Controller => TokenStream::new(),
        }
    }
}

/// The metadata of a kind, as a type of its own.
pub(super) fn metadata_of(kind: &Kind, krate: &CratePath) -> TokenStream {
    let span = location(kind);
    quote_spanned!(span=> #krate::kube::core::PartialObjectMeta<#kind>)
}

/// Where the kind stands, for an error about what follows from it.
pub(super) fn location(kind: &Kind) -> Span {
    crate::args::first_span(&kind.to_token_stream(), Span::call_site()).resolved_at(Span::call_site())
}
