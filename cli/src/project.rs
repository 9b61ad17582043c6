//! The files of a new operator, from templates that the workspace itself compiles as `examples/hello`.

use std::path::Path;

const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("../templates/Cargo.toml")),
    ("src/main.rs", include_str!("../templates/main.rs")),
    ("src/tests.rs", include_str!("../templates/tests.rs")),
    ("sample.yaml", include_str!("../templates/sample.yaml")),
    (".gitignore", "/target/\n"),
];

/// Types and traits that the templates name. A kind of the same name would stand in their place.
const TAKEN_KINDS: [&str; 16] = [
    "Action",
    "Arc",
    "Clone",
    "ConfigMap",
    "Context",
    "CustomResource",
    "Debug",
    "Deserialize",
    "JsonSchema",
    "Manager",
    "Reconciler",
    "Result",
    "Self",
    "Serialize",
    "String",
    "TestCluster",
];

/// Variables of the templates, beside the one of the kind.
const TAKEN_VARIABLES: [&str; 4] = ["cluster", "cx", "map", "text"];

/// Packages that the new one depends on.
const TAKEN_PACKAGES: [&str; 5] = ["kubewright", "kubewright-testkit", "schemars", "serde", "tokio"];

/// What a new operator is called.
#[derive(Debug)]
pub(crate) struct Project {
    name: String,
    kind: String,
    group: String,
}

impl Project {
    /// Checks the names by the rules of Kubernetes and Rust.
    pub(crate) fn new(name: &str, kind: &str, group: &str) -> Result<Self, String> {
        if !is_label(name) || !name.starts_with(|c: char| c.is_ascii_lowercase()) || name.len() > 46 {
            return Err(format!(
                "`{name}` is no name for an operator: use at most 46 lower-case letters, digits and `-`, \
                 beginning with a letter"
            ));
        }
        if TAKEN_PACKAGES.contains(&name) || name == "test" || is_keyword(name) {
            return Err(format!(
                "`{name}` is the name of a dependency or a word of Rust: choose another for the operator"
            ));
        }
        let camel =
            kind.starts_with(|c: char| c.is_ascii_uppercase()) && kind.chars().all(|c| c.is_ascii_alphanumeric());
        if !camel || kind.len() > 60 {
            return Err(format!(
                "`{kind}` is no name for a kind: use CamelCase, such as `App` (--kind)"
            ));
        }
        if TAKEN_KINDS.contains(&kind) || TAKEN_VARIABLES.contains(&&*snake_case(kind)) || is_keyword(&snake_case(kind))
        {
            return Err(format!(
                "the kind `{kind}` would hide a name that the operator's code needs: choose another (--kind)"
            ));
        }
        if !group.contains('.') || !group.split('.').all(is_label) {
            return Err(format!(
                "`{group}` is no API group: use a domain of yours, such as `example.dev` (--group)"
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            group: group.to_owned(),
        })
    }

    /// Path and content of each file. `local` is a checkout of Kubewright to build against.
    pub(crate) fn files(&self, local: Option<&Path>) -> Vec<(&'static str, String)> {
        let dependency = |folder: &str| match local {
            // A TOML literal string holds a path as it is, backslashes included.
            Some(checkout) => format!("{{ path = '{}' }}", checkout.join(folder).display()),
            None => format!("\"{}\"", env!("CARGO_PKG_VERSION")),
        };
        let places = [
            ("{{name}}", self.name.clone()),
            ("{{Kind}}", self.kind.clone()),
            ("{{kind}}", snake_case(&self.kind)),
            ("{{group}}", self.group.clone()),
            ("{{kubewright}}", dependency("runtime")),
            ("{{testkit}}", dependency("testkit")),
        ];
        let fill = |text: &str| {
            places
                .iter()
                .fold(text.to_owned(), |text, (place, value)| text.replace(place, value))
        };
        FILES.iter().map(|(path, text)| (*path, fill(text))).collect()
    }
}

/// `shop-operator` → `ShopOperator`.
pub(crate) fn camel_case(name: &str) -> String {
    let upper = |word: &str| {
        let mut letters = word.chars();
        letters
            .next()
            .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
            .unwrap_or_default()
    };
    name.split('-').map(upper).collect()
}

/// `ShopOperator` → `shop_operator`.
fn snake_case(kind: &str) -> String {
    let mut snake = String::with_capacity(kind.len() + 4);
    for letter in kind.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Whether Rust keeps the word for itself, and so takes it for neither a variable nor a crate.
fn is_keyword(word: &str) -> bool {
    const KEYWORDS: &str = "abstract as async await become box break const continue crate do dyn else enum extern false \
                            final fn for gen if impl in let loop macro match mod move mut override priv pub ref return \
                            self static struct super trait true try type typeof unsafe unsized use virtual where while \
                            yield";
    KEYWORDS.split_whitespace().any(|keyword| keyword == word)
}

/// Whether Kubernetes takes it as a DNS label.
fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= 63 && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_new_writes_is_the_example_that_the_workspace_compiles_and_tests() {
        let project = Project::new("hello", "Greeting", "demo.dev").expect("valid names");
        let written = project.files(None);
        for (path, compiled) in [
            ("src/main.rs", include_str!("../../examples/hello/src/main.rs")),
            ("src/tests.rs", include_str!("../../examples/hello/src/tests.rs")),
            ("sample.yaml", include_str!("../../examples/hello/sample.yaml")),
        ] {
            let (_, text) = written.iter().find(|(p, _)| *p == path).expect("written");
            assert_eq!(
                text, compiled,
                "{path}: change cli/templates and examples/hello together"
            );
        }
    }

    #[test]
    fn the_readme_shows_these_files() {
        let readme = include_str!("../../README.md");
        let project = Project::new("hello", "Greeting", "demo.dev").expect("valid names");
        for (path, text) in project.files(Some(Path::new("../kubewright"))) {
            if path.ends_with(".rs") || path.ends_with(".toml") {
                assert!(
                    readme.contains(&format!("\n{text}```")),
                    "README.md does not show {path} as it is:\n{text}"
                );
            }
        }
        assert!(include_str!("../../examples/hello/src/main.rs").lines().count() <= 45);
    }

    #[test]
    fn names_are_turned_into_the_case_that_each_place_wants() {
        assert_eq!(camel_case("shop-operator"), "ShopOperator");
        assert_eq!(snake_case("ShopOperator"), "shop_operator");
    }

    #[test]
    fn names_that_kubernetes_or_rust_would_refuse_are_refused() {
        for (name, kind, group) in [
            ("Shop", "Shop", "a.dev"),
            ("1shop", "Shop", "a.dev"),
            ("shop", "shop", "a.dev"),
            ("shop", "Shop", "dev"),
            ("shop", "Shop", "a..dev"),
            ("test", "Shop", "a.dev"),
            ("serde", "Shop", "a.dev"),
            ("match", "Shop", "a.dev"),
            ("shop", "ConfigMap", "a.dev"),
            ("shop", "Text", "a.dev"),
            ("shop", "Type", "a.dev"),
        ] {
            assert!(Project::new(name, kind, group).is_err(), "{name} {kind} {group}");
        }
    }
}
