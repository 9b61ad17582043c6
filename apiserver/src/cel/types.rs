//! The types of expressions, as far as the schemas of their variables tell: enough to refuse a rule that cannot hold.
//!
//! What is not known is anything, so no expression is refused that the real compiler accepts.

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};

use super::{Program, text, value};
use crate::schema::{Format, Node, Type};

/// What an expression gives.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind<'n> {
    /// Not known.
    Anything,
    Bool,
    Int,
    Uint,
    Double,
    Text,
    List(Box<Kind<'n>>),
    Map(Box<Kind<'n>>),
    Object(Seen<'n>),
    /// What rules see of the metadata of a whole object.
    Names,
}

/// A schema, compared by identity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'n>(&'n Node);

impl PartialEq for Seen<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

/// Functions that are called by name alone.
const GLOBAL: &[&str] = &[
    "bool",
    "bytes",
    "cidr",
    "double",
    "duration",
    "dyn",
    "has",
    "int",
    "ip",
    "isCIDR",
    "isIP",
    "isQuantity",
    "isSemver",
    "isURL",
    "matches",
    "quantity",
    "semver",
    "size",
    "string",
    "timestamp",
    "type",
    "uint",
    "url",
];

impl Program {
    /// What the expression gives, given the schemas of its variables.
    ///
    /// # Errors
    /// The first thing that the compiler would refuse, in its words.
    pub(crate) fn kind<'n>(&self, variables: &[(&str, &'n Node)]) -> Result<Kind<'n>, String> {
        let scope = variables
            .iter()
            .map(|(name, node)| ((*name).to_owned(), of_node(node)))
            .collect();
        let mut check = Check {
            text: &self.text,
            scope,
            fault: None,
        };
        let kind = check.visit(&self.expression);
        match check.fault {
            Some(fault) => Err(fault),
            None => Ok(kind),
        }
    }
}

struct Check<'t, 'n> {
    text: &'t str,
    scope: Vec<(String, Kind<'n>)>,
    fault: Option<String>,
}

impl<'n> Check<'_, 'n> {
    fn visit(&mut self, expr: &IdedExpr) -> Kind<'n> {
        match &expr.expr {
            Expr::Literal(literal) => match literal {
                LiteralValue::Boolean(_) => Kind::Bool,
                LiteralValue::Int(_) => Kind::Int,
                LiteralValue::UInt(_) => Kind::Uint,
                LiteralValue::Double(_) => Kind::Double,
                LiteralValue::String(_) => Kind::Text,
                _ => Kind::Anything,
            },
            Expr::Ident(name) => {
                let found = self.scope.iter().rev().find(|(known, _)| known == name);
                found.map_or(Kind::Anything, |(_, kind)| kind.clone())
            }
            Expr::Select(select) => {
                let operand = self.visit(&select.operand);
                let kind = self.field(&operand, &select.field);
                if select.test { Kind::Bool } else { kind }
            }
            Expr::List(list) => {
                let kinds: Vec<Kind<'n>> = list.elements.iter().map(|item| self.visit(item)).collect();
                let same = kinds.windows(2).all(|pair| pair[0] == pair[1]);
                let first = kinds.into_iter().next().filter(|_| same);
                Kind::List(Box::new(first.unwrap_or(Kind::Anything)))
            }
            Expr::Call(call) => self.call(call),
            Expr::Comprehension(of) => {
                let range = self.visit(&of.iter_range);
                let item = match range {
                    Kind::List(item) => *item,
                    Kind::Map(_) | Kind::Object(_) if of.iter_var2.is_none() => Kind::Text,
                    _ => Kind::Anything,
                };
                let start = self.visit(&of.accu_init);
                let bound = self.scope.len();
                // With two variables the first is an index or a key.
                let item = if of.iter_var2.is_some() { Kind::Anything } else { item };
                self.scope.push((of.iter_var.clone(), item));
                self.scope.push((of.accu_var.clone(), Kind::Anything));
                self.visit(&of.loop_step);
                let result = self.visit(&of.result);
                self.scope.truncate(bound);
                match start {
                    Kind::Bool => Kind::Bool,
                    _ => result,
                }
            }
            _ => Kind::Anything,
        }
    }

    fn field(&mut self, operand: &Kind<'n>, field: &str) -> Kind<'n> {
        match operand {
            Kind::Object(Seen(node)) => {
                if node.embedded && field == "metadata" {
                    return Kind::Names;
                }
                if let Some(property) = node.properties.iter().find(|p| value::escaped(&p.name) == field) {
                    return of_node(&property.node);
                }
                self.undefined(field);
                Kind::Anything
            }
            Kind::Map(value) => (**value).clone(),
            Kind::Names if matches!(field, "name" | "generateName") => Kind::Text,
            Kind::Names => {
                self.undefined(field);
                Kind::Anything
            }
            _ => Kind::Anything,
        }
    }

    fn undefined(&mut self, field: &str) {
        let at = self.text.find(&format!(".{field}")).unwrap_or_default();
        self.refuse(at, &format!("undefined field '{field}'"));
    }

    fn call(&mut self, call: &CallExpr) -> Kind<'n> {
        let target = call.target.as_ref().map(|target| self.visit(target));
        let args: Vec<Kind<'n>> = call.args.iter().map(|arg| self.visit(arg)).collect();
        let name = call.func_name.as_str();
        if let Some(operator) = operator(name) {
            return self.operation(name, operator, &args);
        }
        match (name, &target) {
            ("_&&_" | "_||_" | "!_" | "@in" | "_in_" | "@not_strictly_false", _) => Kind::Bool,
            ("_?_:_", _) => match args.as_slice() {
                [_, a, b] if a == b => a.clone(),
                _ => Kind::Anything,
            },
            ("_[_]", _) => match args.first() {
                Some(Kind::List(item) | Kind::Map(item)) => (**item).clone(),
                _ => Kind::Anything,
            },
            ("size" | "indexOf" | "lastIndexOf" | "int", _) => Kind::Int,
            ("double", None) => Kind::Double,
            ("string", None) => Kind::Text,
            ("startsWith" | "endsWith" | "matches" | "contains" | "isSorted" | "exists" | "all", _) => Kind::Bool,
            ("format" | "join" | "lowerAscii" | "replace" | "substring" | "trim" | "upperAscii", Some(Kind::Text)) => {
                Kind::Text
            }
            ("split" | "findAll", Some(Kind::Text)) => Kind::List(Box::new(Kind::Text)),
            ("reverse", Some(Kind::Text)) => {
                let at = self.text.find("reverse").map_or(0, |at| at + "reverse".len());
                self.refuse(at, "found no matching overload for 'reverse' applied to 'string.()'");
                Kind::Anything
            }
            (name, None)
                if name.chars().next().is_some_and(char::is_alphabetic)
                    && !GLOBAL.contains(&name)
                    && !name.contains('.') =>
            {
                let at = self.text.find(name).map_or(0, |at| at + name.len());
                self.refuse(at, &format!("undeclared reference to '{name}' (in container '')"));
                Kind::Anything
            }
            _ => Kind::Anything,
        }
    }

    fn operation(&mut self, name: &str, symbol: &str, args: &[Kind<'n>]) -> Kind<'n> {
        let [left, right] = args else { return Kind::Anything };
        let comparison = matches!(symbol, "==" | "!=" | "<" | "<=" | ">" | ">=");
        if let (Some(a), Some(b)) = (scalar_name(left), scalar_name(right)) {
            let numbers = |kind: &str| matches!(kind, "int" | "uint" | "double");
            let ordered = matches!(symbol, "<" | "<=" | ">" | ">=") && numbers(a) && numbers(b);
            if a != b && !ordered {
                let at = self.text.find(symbol).unwrap_or_default();
                self.refuse(
                    at,
                    &format!("found no matching overload for '{name}' applied to '({a}, {b})'"),
                );
                return Kind::Anything;
            }
            if !comparison {
                return left.clone();
            }
        }
        if comparison { Kind::Bool } else { Kind::Anything }
    }

    fn refuse(&mut self, at: usize, why: &str) {
        if self.fault.is_none() {
            self.fault = Some(text::error(self.text, at, why));
        }
    }
}

fn operator(name: &str) -> Option<&'static str> {
    Some(match name {
        "_==_" => "==",
        "_!=_" => "!=",
        "_<_" => "<",
        "_<=_" => "<=",
        "_>_" => ">",
        "_>=_" => ">=",
        "_+_" => "+",
        "_-_" => "-",
        "_*_" => "*",
        "_/_" => "/",
        "_%_" => "%",
        _ => return None,
    })
}

fn scalar_name(kind: &Kind<'_>) -> Option<&'static str> {
    match kind {
        Kind::Bool => Some("bool"),
        Kind::Int => Some("int"),
        Kind::Uint => Some("uint"),
        Kind::Double => Some("double"),
        Kind::Text => Some("string"),
        _ => None,
    }
}

fn of_node(node: &Node) -> Kind<'_> {
    if node.name.is_some() || node.nullable || node.format == Format::IntOrString {
        return Kind::Anything;
    }
    match node.kind {
        Type::Boolean => Kind::Bool,
        Type::Integer => Kind::Int,
        Type::Number => Kind::Double,
        Type::String => {
            let format = node.validations.as_ref().and_then(|v| v.format.as_deref());
            // These are times, durations and bytes.
            let typed = matches!(
                format,
                Some("date" | "date-time" | "datetime" | "duration" | "byte" | "binary")
            );
            if typed { Kind::Anything } else { Kind::Text }
        }
        Type::Array => Kind::List(Box::new(
            node.items.as_ref().map_or(Kind::Anything, |item| of_node(item)),
        )),
        Type::Object => match &node.additional {
            Some(value) => Kind::Map(Box::new(of_node(value))),
            None if node.preserve_unknown && node.properties.is_empty() => Kind::Anything,
            None => Kind::Object(Seen(node)),
        },
        Type::Any => Kind::Anything,
    }
}
