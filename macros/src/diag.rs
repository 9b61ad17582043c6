//! Collects errors, so that all of them are reported at once.

use std::fmt::Display;

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;

/// The errors found so far.
#[derive(Default)]
pub(crate) struct Diag {
    errors: Vec<syn::Error>,
    lost: bool,
    /// What each error stands on, since a span tells nothing outside a compiler.
    #[cfg(test)]
    places: Vec<String>,
}

impl Diag {
    /// Reports an error on the tokens at fault.
    pub(crate) fn error(&mut self, tokens: impl ToTokens, message: impl Display) {
        #[cfg(test)]
        self.places.push(tokens.to_token_stream().to_string());
        self.errors.push(syn::Error::new_spanned(tokens, message));
    }

    /// Reports an error on a span.
    pub(crate) fn error_at(&mut self, span: Span, message: impl Display) {
        #[cfg(test)]
        self.places.push(String::new());
        self.errors.push(syn::Error::new(span, message));
    }

    /// Reports what a parser found.
    pub(crate) fn push(&mut self, error: syn::Error) {
        #[cfg(test)]
        self.places.push(String::new());
        self.errors.push(error);
    }

    /// Says that something that may have declared a kind or a right could not be read: what seems to be missing is
    /// then no mistake of its own.
    pub(crate) fn lose(&mut self) {
        self.lost = true;
    }

    /// Whether [`lose`](Self::lose) was called.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost
    }

    /// Whether nothing was reported.
    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// The errors, each with the tokens it stands on; none for the whole attribute.
    #[cfg(test)]
    pub(crate) fn told(&self) -> Vec<(String, String)> {
        let messages = self.errors.iter().map(ToString::to_string);
        self.places.iter().cloned().zip(messages).collect()
    }

    /// Takes the first error out, as one `compile_error!` that fits where an item, an expression or a type fits.
    pub(crate) fn take_first(&mut self) -> Option<TokenStream> {
        (!self.errors.is_empty()).then(|| self.errors.remove(0).to_compile_error())
    }

    /// One `compile_error!` per error.
    pub(crate) fn into_tokens(self) -> TokenStream {
        self.errors.iter().map(syn::Error::to_compile_error).collect()
    }
}
