//! `rbac(group = "…", resources = […], verbs = […], names = […])` and `rbac(urls = […], verbs = […])`.

use proc_macro2::{Group, TokenStream};
use quote::quote;

use super::args::{set_once, unknown_inner_key, value_of};
use super::{keys, literals};
use crate::diag::Diag;
use crate::path::CratePath;
use crate::value;

/// One rule.
pub(crate) struct Rule {
    group: Option<TokenStream>,
    resources: Vec<TokenStream>,
    verbs: Vec<TokenStream>,
    names: Vec<TokenStream>,
    urls: Vec<TokenStream>,
}

impl Rule {
    /// The builder's argument.
    pub(crate) fn expand(&self, krate: &CratePath) -> TokenStream {
        let Self {
            group,
            resources,
            verbs,
            names,
            urls,
        } = self;
        if !urls.is_empty() {
            return quote!(#krate::rbac::PolicyRule::urls([#(#urls),*], [#(#verbs),*]));
        }
        let group = group.clone().unwrap_or_else(|| quote!(""));
        let names = (!names.is_empty()).then(|| quote!(.names([#(#names),*])));
        quote!(#krate::rbac::PolicyRule::new(#group, [#(#resources),*], [#(#verbs),*]) #names)
    }
}

/// Reads the parentheses of `rbac`.
pub(crate) fn parse(list: &Group, diag: &mut Diag) -> Option<Rule> {
    let (mut group, mut resources, mut verbs, mut names, mut urls) = (None, None, None, None, None);
    let mut written = Vec::new();
    for arg in crate::args::parse(list.stream(), "verbs = [\"get\"]", diag) {
        let name = arg.name();
        let example = keys::example(&keys::RBAC, &name);
        written.push(name.clone());
        let (slot, check): (_, value::Check) = match &*name {
            "group" => {
                let text = value_of(&arg, example, diag).and_then(|v| literals::text(v, example, check_group, diag));
                set_once(&mut group, text, &arg, diag);
                continue;
            }
            "resources" => (&mut resources, value::check_resource),
            "verbs" => (&mut verbs, value::check_verb),
            "names" => (&mut names, |_| Ok(())),
            "urls" => (&mut urls, value::check_url),
            _ => {
                unknown_inner_key(&arg, &name, "rbac", &keys::RBAC, diag);
                continue;
            }
        };
        let texts = value_of(&arg, example, diag).map(|v| literals::texts(v, example, check, diag));
        set_once(slot, texts, &arg, diag);
    }
    let wrote = |key: &str| written.iter().any(|w| w == key);
    if !wrote("verbs") {
        diag.error(list, "a rule without `verbs` allows nothing: add `verbs = [\"get\"]`");
    }
    if !wrote("resources") && !wrote("urls") {
        diag.error(
            list,
            "a rule names `resources = [\"…\"]`, or `urls = [\"/…\"]` for paths outside the resources",
        );
    }
    if wrote("urls") && (wrote("resources") || wrote("group") || wrote("names")) {
        diag.error(list, "a rule is about `resources` or about `urls`: write two `rbac(…)`");
    }
    Some(Rule {
        group,
        resources: resources.unwrap_or_default(),
        verbs: verbs?,
        names: names.unwrap_or_default(),
        urls: urls.unwrap_or_default(),
    })
}

/// A group: empty for the core group, `*`, or a DNS name.
fn check_group(group: &str) -> Result<(), String> {
    let ok = group
        .chars()
        .all(|c| c.is_ascii_lowercase() || matches!(c, '0'..='9' | '-' | '.'));
    if ok || group == "*" {
        return Ok(());
    }
    if group.contains('/') {
        let name = group.split('/').next().unwrap_or_default();
        return Err(format!(
            "`{group}` holds a version: rules name the group alone, as in `group = \"{name}\"`"
        ));
    }
    Err(format!("`{group}` is no API group: write it as in `group = \"apps\"`"))
}
