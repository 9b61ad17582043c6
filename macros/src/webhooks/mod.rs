//! `#[webhooks(…)]`: head of the item → arguments → rules → builder calls.

mod args;
mod complete;
mod expand;
mod head;
mod values;

use proc_macro2::TokenStream;

use crate::diag::Diag;

pub(crate) fn webhooks(attr: TokenStream, item: &TokenStream) -> TokenStream {
    let mut diag = Diag::default();
    let name = head::parse(item, &mut diag);
    let args = args::parse(attr, &mut diag);
    let declaration = name.map(|name| expand::expand(&name, &args, &mut diag));
    let completion = complete::expand(&args);
    let errors = diag.into_tokens();
    // The user's item comes first and untouched, so that an error of ours causes no second one.
    quote::quote! { #item #completion #errors #declaration }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said about an attribute, in order.
    fn told(attr: &str) -> Vec<String> {
        let mut diag = Diag::default();
        args::parse(attr.parse().expect("tokens"), &mut diag);
        diag.told().into_iter().map(|(_, message)| message).collect()
    }

    #[test]
    fn each_mistake_says_what_to_write() {
        for (attr, says) in [
            (
                "validate",
                "`for` is missing: name the kind whose objects are judged, as in `for = App`",
            ),
            (
                "for = App",
                "nothing is done: add `validate`, `mutate`, or `convert = v1alpha1::App`",
            ),
            (
                "for = App, validates",
                "there is no key `validates`: did you mean `validate`, as in `validate`?",
            ),
            (
                "for = App, default",
                "there is no key `default`: did you mean `mutate`, as in `mutate`?",
            ),
            (
                "for = App, frobnicate = 1, validate",
                "there is no key `frobnicate`: keys are `for`, `validate`, `mutate`, `convert`, `loses`, `operations`, \
                 `failure_policy`, `side_effects`, `match_conditions`, `object_selector`, `timeout`, `crate`",
            ),
            ("for = App, validate, validate", "`validate` is given twice: keep one"),
            (
                "for = App, validate = true",
                "`validate` takes no value: write `validate` alone, or leave it out",
            ),
            (
                "for = App, validate, operations = [create, patch]",
                "there is no operation `patch`: operations are `create`, `update`, `delete` and `connect`",
            ),
            (
                "for = App, validate, operations = [create, create]",
                "`create` is listed twice: keep one",
            ),
            (
                "for = App, mutate, operations = [delete]",
                "a deletion has nothing to change: write `validate`, or `operations = [create, update]`",
            ),
            (
                "for = App, convert = v1alpha1::App, operations = [create]",
                "operations are those that `validate` and `mutate` are asked about: add one of them, or remove this",
            ),
            (
                "for = App, validate, failure_policy = open",
                "there is no failure policy `open`: write `failure_policy = fail` or `failure_policy = ignore`",
            ),
            (
                "for = App, validate, side_effects = some",
                "the API server calls no webhook with other effects: write `side_effects = none` or \
                 `side_effects = none_on_dry_run`",
            ),
            (
                "for = App, validate, timeout = \"1m\"",
                "the API server waits from 1 to 30 whole seconds: write `timeout = \"10s\"`",
            ),
            (
                "for = App, validate, match_conditions = [\"true\"]",
                "expected a name and an expression: write `match_conditions = [(\"not-mine\", \"request.name != 'a'\")]`",
            ),
            (
                "for = App, convert = App",
                "`App` is the hub already, which `for` names: name the other versions",
            ),
        ] {
            assert_eq!(told(attr), [says], "{attr}");
        }
    }

    #[test]
    fn what_is_right_is_not_spoken_of() {
        let all = "for = v1::App, validate, mutate, convert = [v1alpha1::App, v1beta1::App], \
                   loses(v1alpha1::App, \"spec.mode\"), operations = [create, update, delete], failure_policy = ignore, \
                   side_effects = none_on_dry_run, match_conditions = [(\"a\", \"true\")], object_selector = \"a=b,!c\", \
                   timeout = \"5s\"";
        assert_eq!(told(all), [""; 0]);
    }
}
