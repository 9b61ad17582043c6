use super::names::{check_qualified_part, check_subdomain};

/// A label selector as kubectl takes it: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x)`, `a`, `!a`.
pub(crate) fn check_label_selector(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("an empty label selector selects everything: leave the key out".to_owned());
    }
    for requirement in split_outside_parentheses(text) {
        check_requirement(requirement).map_err(|why| format!("label selector \"{text}\": {why}"))?;
    }
    Ok(())
}

/// A field selector: `metadata.name=x,status.phase!=Running`.
pub(crate) fn check_field_selector(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("an empty field selector selects everything: leave the key out".to_owned());
    }
    for term in text.split(',') {
        let Some((path, _)) = term.split_once("!=").or_else(|| term.split_once('=')) else {
            return Err(format!(
                "field selector \"{text}\": `{term}` has no `=` or `!=`: write it as in \"metadata.name=web\""
            ));
        };
        let path = path.trim();
        let ok = !path.is_empty()
            && path
                .split('.')
                .all(|s| !s.is_empty() && s.chars().all(char::is_alphanumeric));
        if !ok {
            return Err(format!(
                "field selector \"{text}\": `{path}` is no path of a field: write it as in \"metadata.name=web\""
            ));
        }
    }
    Ok(())
}

fn check_requirement(requirement: &str) -> Result<(), String> {
    let requirement = requirement.trim();
    if requirement.is_empty() {
        return Err("nothing stands between two commas".to_owned());
    }
    if let Some(key) = requirement.strip_prefix('!') {
        return check_key(key.trim());
    }
    for operator in ["!=", "==", "="] {
        if let Some((key, value)) = requirement.split_once(operator) {
            check_key(key.trim())?;
            return check_value(value.trim());
        }
    }
    let Some((key, rest)) = requirement.split_once(char::is_whitespace) else {
        if requirement.contains('(') {
            return Err(format!(
                "`{requirement}` is no set: write it as in \"tier in (web,api)\""
            ));
        }
        return check_key(requirement);
    };
    check_key(key)?;
    let rest = rest.trim();
    let values = rest
        .strip_prefix("notin")
        .or_else(|| rest.strip_prefix("in"))
        .map(str::trim);
    let Some(values) = values
        .and_then(|v| v.strip_prefix('('))
        .and_then(|v| v.strip_suffix(')'))
    else {
        return Err(format!(
            "`{rest}` after `{key}` is no comparison: write \"{key}=value\", \"{key} in (a,b)\" or \"{key} notin (a,b)\""
        ));
    };
    values.split(',').try_for_each(|value| check_value(value.trim()))
}

fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        check_subdomain(prefix).map_err(|why| format!("the key `{key}`: {why}"))?;
    }
    check_qualified_part(name).map_err(|why| format!("the key `{key}`: {why}"))
}

fn check_value(value: &str) -> Result<(), String> {
    if value.is_empty() {
        return Ok(());
    }
    check_qualified_part(value).map_err(|why| format!("the value `{value}`: {why}"))
}

fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    text.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        c == ',' && depth <= 0
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn label_selectors_are_what_kubectl_takes() {
        for ok in [
            "app=web",
            "app==web,tier!=db",
            "tier in (web, api),!old",
            "demo.dev/x",
            "a notin (b)",
            "a=",
        ] {
            assert_eq!(check_label_selector(ok), Ok(()), "{ok}");
        }
        for (wrong, says) in [
            ("", "leave the key out"),
            ("app=web,,x", "between two commas"),
            ("app=we b", "` ` is not allowed"),
            ("app is web", "write \"app=value\""),
            ("tier in web", "write \"tier=value\""),
            ("-app=web", "must start and end"),
        ] {
            let error = check_label_selector(wrong).expect_err(wrong);
            assert!(error.contains(says), "{wrong}: {error}");
        }
    }

    #[test]
    fn field_selectors_compare_paths() {
        for ok in [
            "metadata.name=web",
            "status.phase!=Running,spec.nodeName=n1",
            "metadata.name==",
        ] {
            assert_eq!(check_field_selector(ok), Ok(()), "{ok}");
        }
        for wrong in ["", "metadata.name", "metadata..name=x", "=x"] {
            assert!(check_field_selector(wrong).is_err(), "{wrong}");
        }
    }
}
