//! The path to the framework in an expansion: `::kubewright`, or what the user gave as `crate = path`.

use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Path;

/// Where the framework is found.
#[derive(Clone, Default)]
pub(crate) struct CratePath(Option<Path>);

impl CratePath {
    /// The path that the user gave.
    pub(crate) fn given(path: Path) -> Self {
        Self(Some(path))
    }
}

impl ToTokens for CratePath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match &self.0 {
            Some(path) => path.to_tokens(tokens),
            None => tokens.extend(quote_spanned!(Span::call_site()=> ::kubewright)),
        }
    }
}
