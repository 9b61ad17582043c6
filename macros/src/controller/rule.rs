//! `rbac(group = "…", resources = […], verbs = […], names = […])` and `rbac(urls = […], verbs = […])`.

use proc_macro2::{Group, TokenStream};
use quote::quote;

use super::settings::{inner, quiet_if, set_once, value_of};
use super::{keys, literals};
use crate::args::example;
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
pub(super) fn parse(list: &Group, diag: &mut Diag) -> Option<Rule> {
    let (mut group, mut resources, mut verbs, mut names, mut urls) = (None, None, None, None, None);
    if list.stream().is_empty() {
        let example = example(keys::CONTROLLER, "rbac");
        diag.error(list, format!("an empty rule allows nothing: write `{example}`"));
        return None;
    }
    let args = inner(list, "rbac", keys::RBAC, diag);
    let wrote = |key: &str| args.iter().any(|arg| arg.name() == key);
    let about_urls = wrote("urls") && !wrote("resources");
    if args.iter().all(|arg| !arg.guessed) {
        check_parts(list, &wrote, diag);
    }
    let mut unread = Diag::default();
    for arg in &args {
        let diag = quiet_if(arg.guessed, diag, &mut unread);
        let name = arg.name();
        let example = example(keys::RBAC, &name);
        let (slot, check): (_, value::Check) = match &*name {
            "group" => {
                let text = value_of(arg, example, diag).and_then(|v| literals::text(v, example, check_group, diag));
                set_once(&mut group, text, arg, diag);
                continue;
            }
            "resources" => (&mut resources, value::check_resource),
            "verbs" if about_urls => (&mut verbs, value::check_url_verb),
            "verbs" => (&mut verbs, value::check_verb),
            "names" => (&mut names, value::check_object_name),
            _ => (&mut urls, value::check_url),
        };
        let texts = value_of(arg, example, diag).and_then(|v| literals::texts(v, example, check, diag));
        set_once(slot, texts, arg, diag);
    }
    if names.is_some() {
        check_named_verbs(verbs.as_deref().unwrap_or_default(), diag);
    }
    let about = resources.is_some() || urls.is_some();
    about.then_some(())?;
    Some(Rule {
        group,
        resources: resources.unwrap_or_default(),
        verbs: verbs?,
        names: names.unwrap_or_default(),
        urls: urls.unwrap_or_default(),
    })
}

fn check_parts(list: &Group, wrote: &dyn Fn(&str) -> bool, diag: &mut Diag) {
    if !wrote("verbs") {
        diag.error(list, "a rule without `verbs` allows nothing: add `verbs = [\"get\"]`");
    }
    if !wrote("resources") && !wrote("urls") {
        diag.error(
            list,
            "a rule without resources is about nothing: add `resources = [\"deployments\"]`, or `urls = [\"/metrics\"]` \
             for paths outside the resources",
        );
    }
    if wrote("urls") && (wrote("resources") || wrote("group") || wrote("names")) {
        diag.error(list, "a rule is about `resources` or about `urls`: write two `rbac(…)`");
    }
}

/// `rbac(resources = "pods", verbs = ["get", "create"], names = "web")`
///
/// See <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources>.
fn check_named_verbs(verbs: &[TokenStream], diag: &mut Diag) {
    for verb in verbs {
        let text = verb.to_string();
        let text = text.trim_matches('"');
        if matches!(text, "create" | "deletecollection") {
            diag.error(
                verb,
                format!(
                    "`{text}` cannot be narrowed to `names`, since the server does not know the name when it decides: \
                     write a second `rbac(…)` without `names` for it"
                ),
            );
        }
    }
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
