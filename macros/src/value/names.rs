use crate::args::nearest;

/// Verbs of the Kubernetes API, and the special ones of RBAC, certificates and policies.
const VERBS: [&str; 16] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "bind",
    "escalate",
    "impersonate",
    "approve",
    "sign",
    "attest",
    "use",
    "*",
];

/// A verb of a rule.
pub(crate) fn check_verb(verb: &str) -> Result<(), String> {
    if VERBS.contains(&verb) {
        return Ok(());
    }
    let hint = match nearest(&verb.to_ascii_lowercase(), VERBS) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("verbs are {}", VERBS.join(", ")),
    };
    Err(format!("`{verb}` is no RBAC verb: {hint}"))
}

/// Verbs of paths outside the resources: the methods of HTTP in lower case.
const URL_VERBS: [&str; 8] = ["get", "post", "put", "patch", "delete", "head", "options", "*"];

/// A verb of a rule about paths.
pub(crate) fn check_url_verb(verb: &str) -> Result<(), String> {
    if URL_VERBS.contains(&verb) {
        return Ok(());
    }
    let hint = match verb {
        "list" | "watch" => "did you mean `get`?".to_owned(),
        _ => format!("those are {}", URL_VERBS.join(", ")),
    };
    Err(format!("`{verb}` is no verb of a path: {hint}"))
}

/// The name of an object in a rule: what may be a segment of a path.
pub(crate) fn check_object_name(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("an empty name is no object's: write one, as in `names = [\"web\"]`".to_owned());
    }
    if name == "*" {
        return Err("`*` is no name: without `names`, a rule is about all objects".to_owned());
    }
    match name.chars().find(|c| matches!(c, '/' | '%') || c.is_whitespace()) {
        Some(wrong) => Err(format!(
            "`{wrong}` may not stand in the name \"{name}\": write \"{}\", without a namespace",
            name.rsplit(['/', '%', ' ']).next().unwrap_or_default()
        )),
        None => Ok(()),
    }
}

/// A resource of a rule: a lower-case plural, `plural/subresource`, or `*`.
pub(crate) fn check_resource(resource: &str) -> Result<(), String> {
    let ok = |part: &str| {
        part == "*"
            || (!part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || matches!(c, '0'..='9' | '-' | '.')))
    };
    let mut parts = resource.split('/');
    let (Some(name), subresource, None) = (parts.next(), parts.next(), parts.next()) else {
        let shorter: Vec<&str> = resource.split('/').take(2).collect();
        return Err(format!(
            "`{resource}` has more than one `/`: write \"{}\", the plural and its subresource",
            shorter.join("/")
        ));
    };
    if ok(name) && subresource.is_none_or(ok) {
        return Ok(());
    }
    if name.chars().any(|c| c.is_ascii_uppercase()) {
        return Err(format!(
            "`{resource}` looks like a kind, and rules name the lower-case plural: write \"{}\"",
            plural(resource)
        ));
    }
    Err(format!(
        "`{resource}` is no resource: write the lower-case plural, such as `deployments` or `deployments/scale`"
    ))
}

/// A path outside the resources.
pub(crate) fn check_url(path: &str) -> Result<(), String> {
    if path == "*" || path.starts_with('/') {
        Ok(())
    } else {
        Err(format!("`{path}` is no path, which starts with `/`: write \"/{path}\""))
    }
}

/// A DNS label: what names of controllers are made of.
pub(crate) fn check_dns_label(name: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("the name is empty: write \"app\", or what the controller is about".to_owned());
    }
    if name.len() > 63 {
        return Err(format!(
            "the name has {} characters: at most 63 are allowed",
            name.len()
        ));
    }
    if let Some(wrong) = name.chars().find(|c| !is_label_char(*c)) {
        return Err(format!(
            "`{wrong}` may not stand in the name \"{name}\", which has lower-case letters, digits and `-`: write \"{}\"",
            dns_label(name)
        ));
    }
    if name.starts_with('-') || name.ends_with('-') {
        return Err(format!(
            "the name \"{name}\" starts or ends with `-`: write \"{}\"",
            dns_label(name)
        ));
    }
    Ok(())
}

/// A finalizer: `domain/name`.
///
/// The server demands a qualified name, and its own short ones (`orphan`, `kubernetes`) are not for controllers.
pub(crate) fn check_finalizer(name: &str) -> Result<(), String> {
    let Some((domain, path)) = name.split_once('/') else {
        return Err(format!(
            "the finalizer \"{name}\" has no domain: write \"example.com/{}\"",
            if name.is_empty() { "cleanup" } else { name }
        ));
    };
    check_subdomain(domain).map_err(|why| match check_subdomain(&domain.to_lowercase()) {
        Ok(()) => format!(
            "the domain of the finalizer \"{name}\" has capitals: write \"{}/{path}\"",
            domain.to_lowercase()
        ),
        Err(_) => format!("the domain of the finalizer \"{name}\": {why}"),
    })?;
    check_qualified_part(path).map_err(|why| format!("the finalizer \"{name}\" after `/`: {why}"))
}

/// A field manager: 1 to 128 printable characters, as the server demands.
pub(crate) fn check_field_manager(name: &str) -> Result<(), String> {
    let length = name.chars().count();
    if length == 0 {
        return Err("the field manager is empty: write one, or leave the key out".to_owned());
    }
    if length > 128 {
        return Err(format!(
            "the field manager has {length} characters: at most 128 are allowed"
        ));
    }
    match name.chars().find(|c| c.is_control()) {
        Some(c) => Err(format!(
            "the field manager holds {c:?}: only printable characters are allowed"
        )),
        None => Ok(()),
    }
}

/// A reason for people to read.
pub(crate) fn check_reason(reason: &str) -> Result<(), String> {
    if reason.trim().is_empty() {
        Err("the reason is empty: say what the grants cannot cover, for who reviews the operator's rights".to_owned())
    } else {
        Ok(())
    }
}

/// The group of a custom resource.
pub(crate) fn check_api_group(group: &str) -> Result<(), String> {
    match group.split_once('/') {
        Some((name, _)) => Err(format!(
            "the group `{group}` holds a version: write `group = \"{name}\"`"
        )),
        None => check_subdomain(group).map_err(|why| format!("the group \"{group}\": {why}")),
    }
}

/// The version of a custom resource.
pub(crate) fn check_api_version(version: &str) -> Result<(), String> {
    let ok = version.starts_with(|c: char| c.is_ascii_lowercase())
        && version.len() <= 63
        && !version.ends_with('-')
        && version.chars().all(is_label_char);
    if ok {
        Ok(())
    } else {
        Err(format!(
            "\"{version}\" is no version: write it as in `version = \"v1\"` or `version = \"v1beta1\"`"
        ))
    }
}

/// The kind of a custom resource.
pub(crate) fn check_kind(kind: &str) -> Result<(), String> {
    let ok = kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.chars().all(|c| c.is_ascii_alphanumeric());
    if ok {
        Ok(())
    } else {
        Err(format!(
            "\"{kind}\" is no kind, which is a CamelCase word: write it as in `kind = \"App\"`"
        ))
    }
}

/// Dot-separated DNS labels.
pub(super) fn check_subdomain(domain: &str) -> Result<(), String> {
    if domain.len() > 253 {
        return Err(format!(
            "{} characters are too many: at most 253 are allowed",
            domain.len()
        ));
    }
    for label in domain.split('.') {
        let edges_ok = label.starts_with(|c: char| c != '-') && label.ends_with(|c: char| c != '-');
        if !edges_ok || !label.chars().all(is_label_char) {
            return Err(format!(
                "`{label}` is no DNS label: use lower-case letters, digits and `-`, as in `example.com`"
            ));
        }
    }
    Ok(())
}

/// 1 to 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
pub(super) fn check_qualified_part(part: &str) -> Result<(), String> {
    if part.is_empty() {
        return Err("a name is missing".to_owned());
    }
    if part.len() > 63 {
        return Err(format!(
            "{} characters are too many: at most 63 are allowed",
            part.len()
        ));
    }
    if let Some(wrong) = part
        .chars()
        .find(|c| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '_' | '.'))
    {
        return Err(format!(
            "`{wrong}` is not allowed: use letters, digits, `-`, `_` and `.`"
        ));
    }
    let alphanumeric = |c: char| c.is_ascii_alphanumeric();
    if !part.starts_with(alphanumeric) || !part.ends_with(alphanumeric) {
        return Err(format!("`{part}` must start and end with a letter or a digit"));
    }
    Ok(())
}

/// The DNS label that comes nearest.
fn dns_label(name: &str) -> String {
    let label: String = name
        .to_lowercase()
        .chars()
        .map(|c| if is_label_char(c) { c } else { '-' })
        .collect();
    match label.trim_matches('-') {
        "" => "app".to_owned(),
        label => label.to_owned(),
    }
}

/// The plural of a kind's name, as Kubernetes forms it.
fn plural(kind: &str) -> String {
    let name = kind.to_lowercase();
    match name.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if name.ends_with(['s', 'x']) || name.ends_with("ch") => format!("{name}es"),
        None => format!("{name}s"),
    }
}

fn is_label_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_verb_is_answered_with_the_one_meant() {
        assert!(check_verb("deletecollection").is_ok());
        assert_eq!(
            check_verb("gets"),
            Err("`gets` is no RBAC verb: did you mean `get`?".to_owned())
        );
        assert_eq!(
            check_verb("Patch"),
            Err("`Patch` is no RBAC verb: did you mean `patch`?".to_owned())
        );
        assert!(
            check_verb("frobnicate")
                .expect_err("no verb")
                .contains("verbs are get, list")
        );
    }

    #[test]
    fn resources_are_lower_case_plurals() {
        for ok in ["pods", "pods/log", "*", "deployments/scale", "*/scale"] {
            assert_eq!(check_resource(ok), Ok(()));
        }
        assert!(
            check_resource("Deployment")
                .expect_err("a kind")
                .contains("looks like a kind")
        );
        for wrong in ["", "pods/", "a/b/c", "po ds"] {
            assert!(check_resource(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn finalizers_need_a_domain() {
        assert_eq!(check_finalizer("demo.dev/app-cleanup"), Ok(()));
        assert!(
            check_finalizer("cleanup")
                .expect_err("no domain")
                .contains("\"example.com/cleanup\"")
        );
        for wrong in ["Demo.dev/x", "demo.dev/", "demo..dev/x", "demo.dev/a/b", "/x"] {
            assert!(check_finalizer(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn controllers_are_named_by_dns_labels() {
        assert_eq!(check_dns_label("app-2"), Ok(()));
        assert!(
            check_dns_label("My App")
                .expect_err("upper case")
                .starts_with("`M` may not stand")
        );
        assert!(check_dns_label("-a").is_err() && check_dns_label("").is_err());
    }
}
