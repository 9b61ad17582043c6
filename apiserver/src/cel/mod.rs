//! Expressions of the Common Expression Language, as Kubernetes speaks it.
//!
//! Parsing, evaluation and Kubernetes' libraries come from the crates `cel` and `kube-cel`; here are the values of the
//! API as values of the language, the real server's words for what goes wrong, and the authorizer.

mod authorizer;
mod builtin;
mod cost;
mod depth;
mod fault;
mod result;
mod rewrite;
mod text;
mod types;
mod value;

use std::sync::LazyLock;

use kube_cel::KubeCelExt as _;
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::parser::{Expression, Parser};
use kube_cel::cel::{Context, Value as CelValue};
use serde_json::Value;

use crate::access::{Authorizer, User};
use crate::schema::{ListType, Node};

/// The functions that every expression may call. Made once: registering them costs more than most expressions.
static LIBRARY: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    authorizer::register(&mut context);
    builtin::register(&mut context);
    context
});

/// Names that are no variables: types, and the namespaces of libraries.
const DECLARED: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "duration",
    "format",
    "google",
    "int",
    "ip",
    "jsonpatch",
    "list",
    "map",
    "math",
    "null_type",
    "optional",
    "optional_type",
    "sets",
    "string",
    "timestamp",
    "type",
    "uint",
];

/// A parsed expression.
#[derive(Clone, Debug)]
pub struct Program {
    text: String,
    expression: Expression,
    result: Option<String>,
    depth: usize,
}

impl Program {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// What the compiler says, with the place marked: `ERROR: <input>:1:5: Syntax error: …`.
    pub fn compile(text: &str) -> Result<Self, String> {
        if text.len() > text::LONGEST {
            return Err(text::error(
                text,
                0,
                &format!("expression is longer than {} bytes", text::LONGEST),
            ));
        }
        let depth = depth::of(text);
        if depth > depth::DEEPEST {
            return Err(text::error(text, 0, "expression is nested too deeply"));
        }
        depth::with_stack(|| {
            let parser = Parser::new().enable_optional_syntax(true);
            let parsed = parser.parse(text).map_err(|errors| text::syntax(text, &errors))?;
            let result = result::of(&parsed);
            let expression = rewrite::optional_selects(rewrite::structs_to_maps(&parsed));
            Ok(Self {
                text: text.to_owned(),
                expression,
                result,
                depth,
            })
        })
    }

    /// The expression as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The expression for a value of this schema: lists in which the order does not matter are compared without it.
    #[must_use]
    pub(crate) fn on(mut self, schema: &Node) -> Self {
        rewrite::compare_unordered(&mut self.expression, &|path| {
            let mut steps = path.iter();
            let root = steps.next()?;
            if *root != "self" && *root != "oldSelf" {
                return None;
            }
            let found = steps.try_fold(schema, |node, step| {
                let escaped = node.properties.iter().find(|p| value::escaped(&p.name) == **step);
                escaped.map(|p| &*p.node)
            });
            Some(!matches!(found?.list, ListType::Atomic))
        });
        self
    }

    /// Whether the expression mentions a variable.
    #[must_use]
    pub fn references(&self, variable: &str) -> bool {
        self.expression.references().has_variable(variable)
    }

    /// The first name that is neither in `known` nor bound in the expression itself, in the compiler's words.
    #[must_use]
    pub fn undeclared(&self, known: &[&str]) -> Option<String> {
        let references = self.expression.references();
        let mut unknown: Vec<(usize, &str)> = references
            .variables()
            .into_iter()
            .filter(|name| {
                !name.starts_with('@')
                    && !known.contains(name)
                    && !DECLARED.contains(name)
                    && !rewrite::binds(&self.expression, name)
            })
            .map(|name| (text::position(&self.text, name), name))
            .collect();
        unknown.sort_unstable();
        let (at, name) = unknown.first()?;
        Some(text::error(
            &self.text,
            *at,
            &format!("undeclared reference to '{name}' (in container '')"),
        ))
    }

    /// The first field of a variable that is not among those that exist, in the compiler's words.
    #[must_use]
    pub fn undefined_field(&self, variable: &str, fields: &[&str]) -> Option<String> {
        let field = rewrite::fields_of(&self.expression, variable)
            .into_iter()
            .find(|f| !fields.contains(&f.as_str()))?;
        let at = text::position(&self.text, &format!("{variable}.{field}")) + variable.len();
        Some(text::error(&self.text, at, &format!("undefined field '{field}'")))
    }

    /// The type of the expression's value, as far as it shows without a schema: `bool`, `list(dyn)`, `dyn`.
    #[must_use]
    pub fn result_type(&self) -> Option<&str> {
        self.result.as_deref()
    }

    /// The value of the expression.
    ///
    /// # Errors
    ///
    /// What went wrong, in the real server's words: `no such key: a`.
    pub fn evaluate(&self, variables: &Variables) -> Result<Value, String> {
        self.resolve(variables).and_then(|found| value::to_json(&found))
    }

    /// Whether the expression is true.
    ///
    /// # Errors
    ///
    /// As [`Self::evaluate`]; also when it is no truth value.
    pub fn holds(&self, variables: &Variables) -> Result<bool, String> {
        match self.resolve(variables)? {
            CelValue::Bool(holds) => Ok(holds),
            _ => Err("cel expression evaluates to a value that is no bool".to_owned()),
        }
    }

    fn resolve(&self, variables: &Variables) -> Result<CelValue, String> {
        let mut context = LIBRARY.new_inner_scope();
        for (name, value) in &variables.0 {
            context.add_variable_from_value(name.clone(), value.clone());
        }
        let resolve =
            || CelValue::resolve(&self.expression, &context).map_err(|error| fault::words(&error, &self.expression));
        if self.depth > depth::ORDINARY {
            depth::with_stack(resolve)
        } else {
            resolve()
        }
    }
}

/// The variables that an expression sees.
#[derive(Clone, Debug, Default)]
pub struct Variables(Vec<(String, CelValue)>);

impl Variables {
    /// Sets a variable. With a schema, numbers are doubles, and texts with format `duration` or `date-time` are what
    /// they say, as the schema has it.
    pub fn set(&mut self, name: &str, json: &Value, schema: Option<&Node>) {
        self.put(name, value::from_json(json, schema));
    }

    /// Sets a variable to a value that may not be there: `oldSelf.hasValue()`.
    pub fn set_optional(&mut self, name: &str, json: Option<&Value>, schema: Option<&Node>) {
        let value = json.map(|json| value::from_json(json, schema));
        let optional = value.map_or_else(OptionalValue::none, OptionalValue::of);
        self.put(name, CelValue::Opaque(std::sync::Arc::new(optional)));
    }

    /// Sets the variable `authorizer` to checks on behalf of a user, and `authorizer.requestResource` to checks on
    /// the resource that a request is about.
    pub fn set_authorizer(&mut self, authorizer: &Authorizer, user: &User, request: authorizer::Asked) {
        self.put("authorizer", authorizer::value(authorizer, user, request));
    }

    fn put(&mut self, name: &str, value: CelValue) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), value));
    }
}

pub use authorizer::Asked;
pub(crate) use cost::most_in_a_request;
pub(crate) use types::Kind;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn evaluated(text: &str, object: &Value) -> Result<Value, String> {
        let mut variables = Variables::default();
        variables.set("object", object, None);
        Program::compile(text).unwrap().evaluate(&variables)
    }

    #[test]
    fn optional_fields_and_types_are_values() {
        let object = json!({"a": {"b": 1}, "n": 3});
        for (text, expected) in [
            ("object.?a.?b.orValue(0)", json!(1)),
            ("object.?a.b.orValue(0)", json!(1)),
            ("object.?x.y.orValue(7)", json!(7)),
            ("object.?x.?y.hasValue()", json!(false)),
            (
                "type(object.n) == int && type('') == string && type(object.n) != string",
                json!(true),
            ),
        ] {
            assert_eq!(evaluated(text, &object), Ok(expected), "{text}");
        }
    }

    #[test]
    fn expressions_see_the_fields_of_objects() {
        let object = json!({"data": {"a": "1", "b": "2"}, "n": 3, "l": [1, 2]});
        assert_eq!(evaluated("object.data.size() + object.n", &object), Ok(json!(5)));
        assert_eq!(
            evaluated("object.l.all(x, x > 0) && 'a' in object.data", &object),
            Ok(json!(true))
        );
        assert_eq!(evaluated("has(object.none) ? 'yes' : 'no'", &object), Ok(json!("no")));
        assert_eq!(evaluated("'x-' + string(object.n)", &object), Ok(json!("x-3")));
    }

    #[test]
    fn faults_are_told_in_the_servers_words() {
        let object = json!({"l": [1], "n": 0});
        assert_eq!(
            evaluated("object.none == 1", &object),
            Err("no such key: none".to_owned())
        );
        assert_eq!(
            evaluated("object.l[1] == 1", &object),
            Err("index out of bounds: 1".to_owned())
        );
        assert_eq!(
            evaluated("1 / object.n == 1", &object),
            Err("division by zero".to_owned())
        );
    }

    #[test]
    fn a_syntax_error_marks_its_place() {
        let error = Program::compile("object.x >").unwrap_err();
        assert!(
            error.starts_with("ERROR: <input>:1:11: Syntax error: mismatched input '<EOF>' expecting"),
            "{error}"
        );
        assert!(error.ends_with("\n | object.x >\n | ..........^"), "{error}");
    }

    #[test]
    fn names_that_nobody_declared_are_found() {
        let program = Program::compile("object.l.exists(x, x == nosuch)").unwrap();
        assert!(program.references("object"));
        let error = program.undeclared(&["object"]).unwrap();
        assert!(
            error.starts_with("ERROR: <input>:1:25: undeclared reference to 'nosuch' (in container '')"),
            "{error}"
        );
        assert_eq!(
            Program::compile("object.l.exists(x, x == 1)")
                .unwrap()
                .undeclared(&["object"]),
            None
        );
    }

    #[test]
    fn structs_are_built_as_maps() {
        let built = evaluated("Object{metadata: Object.metadata{labels: {'a': 'b'}}}", &json!({})).unwrap();
        assert_eq!(built, json!({"metadata": {"labels": {"a": "b"}}}));
    }
}
