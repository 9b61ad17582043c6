//! The path to the framework in an expansion: `::kubewright`, or what the user gave as `crate = path`.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::Path;

/// Where the framework is found.
#[derive(Clone, Default)]
pub(crate) enum CratePath {
    /// `::kubewright`.
    #[default]
    Framework,
    /// `::kubewright_testkit`.
    Testkit,
    /// The path that the user gave.
    Given(Path),
}

impl CratePath {
    /// The path that the user gave.
    pub(crate) fn given(path: Path) -> Self {
        Self::Given(path)
    }
}

impl ToTokens for CratePath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let name = match self {
            Self::Given(path) => return path.to_tokens(tokens),
            Self::Framework => "kubewright",
            Self::Testkit => "kubewright_testkit",
        };
        let name = Ident::new(name, Span::call_site());
        tokens.extend(quote_spanned!(Span::call_site()=> ::#name));
    }
}
