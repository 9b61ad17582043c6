//! The most that an expression can cost, by the estimates of the language's Go implementation and of Kubernetes'
//! libraries: a rule that may cost too much is refused with its definition.
//!
//! A step costs 1, looking through a text 0.1 a byte, a regular expression its length times that. How large values can
//! be follows from their schema, or from the largest request.

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};

use super::{Program, value};
use crate::schema::{Format, Node, Type};

/// The largest request, in bytes.
const REQUEST: u64 = 3 * 1024 * 1024;
/// What a byte of a text costs to look at.
const TRAVERSAL: f64 = 0.1;
/// What a byte of a regular expression costs.
const REGEX: f64 = 0.25;

/// Names in front of a function that are no values.
const LIBRARIES: [&str; 6] = ["format", "ip", "jsonpatch", "math", "optional", "sets"];

/// How large a value is: at least and at most.
type Size = (u64, u64);

const ONE: Size = (1, 1);
const UNKNOWN: Size = (0, u64::MAX);

impl Program {
    /// The most that the expression can cost, given the schemas of its variables.
    pub(crate) fn cost(&self, variables: &[(&str, &Node)]) -> u64 {
        let scope = variables
            .iter()
            .map(|(name, node)| ((*name).to_owned(), Estimate::of(Shape::Known(node))))
            .collect();
        Estimator { scope }.visit(&self.expression).cost
    }
}

/// How often a value of this schema can come in a request, where nothing bounds it.
pub(crate) fn most_in_a_request(node: &Node) -> u64 {
    REQUEST / (least_bytes(node) + 1)
}

/// What is known of a value.
#[derive(Clone, Copy)]
enum Shape<'n> {
    Known(&'n Node),
    /// A number, a truth value.
    Scalar,
    /// The key of a map.
    Key,
    /// A list of such values.
    Texts,
    Unknown,
}

#[derive(Clone, Copy)]
struct Estimate<'n> {
    cost: u64,
    size: Option<Size>,
    shape: Shape<'n>,
}

impl<'n> Estimate<'n> {
    fn of(shape: Shape<'n>) -> Self {
        Self {
            cost: 1,
            size: None,
            shape,
        }
    }

    fn costing(cost: u64, shape: Shape<'n>) -> Self {
        Self {
            cost,
            size: None,
            shape,
        }
    }

    fn size(&self) -> Size {
        if let Some(size) = self.size {
            return size;
        }
        match self.shape {
            Shape::Known(node) => match node.kind {
                Type::Boolean | Type::Integer | Type::Number => ONE,
                _ => (0, most_elements(node)),
            },
            Shape::Scalar => ONE,
            Shape::Key => (0, 0),
            Shape::Texts | Shape::Unknown => UNKNOWN,
        }
    }

    /// The size of an item of a list.
    fn item(&self) -> Estimate<'n> {
        match self.shape {
            Shape::Known(node) => match (&node.items, &node.additional) {
                (Some(item), _) => Self::of(Shape::Known(item)),
                (None, Some(_)) => Self::of(Shape::Key),
                _ => Self::of(Shape::Unknown),
            },
            _ => Self::of(Shape::Unknown),
        }
    }
}

struct Estimator<'n> {
    scope: Vec<(String, Estimate<'n>)>,
}

impl<'n> Estimator<'n> {
    fn visit(&mut self, node: &IdedExpr) -> Estimate<'n> {
        match &node.expr {
            Expr::Literal(literal) => Estimate {
                cost: 0,
                size: Some(literal_size(literal)),
                shape: Shape::Scalar,
            },
            Expr::Ident(name) => {
                let found = self.scope.iter().rev().find(|(known, _)| known == name);
                let found = found.map_or(Estimate::of(Shape::Unknown), |(_, found)| *found);
                Estimate { cost: 1, ..found }
            }
            Expr::Select(select) => {
                let operand = self.visit(&select.operand);
                if select.test {
                    return Estimate::costing(operand.cost, Shape::Scalar);
                }
                let shape = match operand.shape {
                    Shape::Known(node) => field(node, &select.field),
                    _ => Shape::Unknown,
                };
                Estimate::costing(operand.cost.saturating_add(1), shape)
            }
            Expr::List(list) => {
                let cost = self.sum(list.elements.iter()).saturating_add(10);
                let length = list.elements.len() as u64;
                Estimate {
                    cost,
                    size: Some((length, length)),
                    shape: Shape::Unknown,
                }
            }
            Expr::Map(map) => {
                let entries = map.entries.iter().map(|entry| self.entry(&entry.expr));
                let cost = entries.fold(30_u64, u64::saturating_add);
                Estimate::costing(cost, Shape::Unknown)
            }
            Expr::Struct(built) => {
                let entries = built.entries.iter().map(|entry| self.entry(&entry.expr));
                let cost = entries.fold(40_u64, u64::saturating_add);
                Estimate::costing(cost, Shape::Unknown)
            }
            Expr::Comprehension(of) => self.comprehension(of),
            Expr::Call(call) => self.call(call),
            Expr::Unspecified => Estimate::costing(0, Shape::Unknown),
        }
    }

    fn entry(&mut self, entry: &EntryExpr) -> u64 {
        match entry {
            EntryExpr::StructField(field) => self.visit(&field.value).cost,
            EntryExpr::MapEntry(pair) => {
                let key = self.visit(&pair.key).cost;
                key.saturating_add(self.visit(&pair.value).cost)
            }
        }
    }

    fn sum<'e>(&mut self, parts: impl Iterator<Item = &'e IdedExpr>) -> u64 {
        parts.fold(0, |sum: u64, part| sum.saturating_add(self.visit(part).cost))
    }

    fn comprehension(&mut self, of: &ComprehensionExpr) -> Estimate<'n> {
        let range = self.visit(&of.iter_range);
        let start = self.visit(&of.accu_init);
        let bound = self.scope.len();
        let item = range.item();
        self.scope.push((of.iter_var.clone(), item));
        self.scope.push((of.accu_var.clone(), Estimate { cost: 1, ..start }));
        let condition = self.visit(&of.loop_cond).cost;
        let step = self.visit(&of.loop_step).cost;
        let result = self.visit(&of.result);
        self.scope.truncate(bound);
        let turns = range.size().1;
        let cost = [
            range.cost,
            start.cost,
            result.cost,
            turns.saturating_mul(step.saturating_add(condition)),
        ];
        // A list that the loop makes is no longer than what it goes through.
        let list = matches!(of.accu_init.expr, Expr::List(_));
        Estimate {
            cost: cost.into_iter().fold(0, u64::saturating_add),
            size: list.then_some((0, turns)),
            shape: if list { item_shape(item) } else { Shape::Scalar },
        }
    }

    fn call(&mut self, call: &CallExpr) -> Estimate<'n> {
        let library = call.target.as_ref().and_then(|target| match &target.expr {
            Expr::Ident(name) if LIBRARIES.contains(&name.as_str()) => Some(name.as_str()),
            _ => None,
        });
        let target = call.target.as_ref().filter(|_| library.is_none());
        let target = target.map(|target| self.visit(target));
        let args: Vec<Estimate<'n>> = call.args.iter().map(|arg| self.visit(arg)).collect();
        let parts = target
            .iter()
            .chain(&args)
            .fold(0, |sum: u64, part| sum.saturating_add(part.cost));
        let with = |own: u64, size: Option<Size>, shape: Shape<'n>| Estimate {
            cost: parts.saturating_add(own),
            size,
            shape,
        };
        let scalar = |own: u64| with(own, None, Shape::Scalar);
        let first = args.first().map_or(UNKNOWN, Estimate::size);
        match library {
            Some("sets") => {
                // Every item of one is compared with every item of the other.
                let sizes = args.iter().map(|list| list.size().1);
                return scalar(sizes.fold(1, u64::saturating_mul));
            }
            Some("ip") => return scalar(times(first.1, 2.0 * TRAVERSAL)),
            Some(_) => return with(1, None, Shape::Unknown),
            None => {}
        }
        let subject = target.as_ref().map_or(first, Estimate::size);
        match call.func_name.as_str() {
            "_&&_" | "_||_" => scalar(0),
            "_?_:_" => match args.as_slice() {
                [condition, yes, no] => {
                    let size = (yes.size().0.min(no.size().0), yes.size().1.max(no.size().1));
                    Estimate {
                        cost: condition.cost.saturating_add(yes.cost.max(no.cost)),
                        size: Some(size),
                        shape: yes.shape,
                    }
                }
                _ => scalar(1),
            },
            "_==_" | "_!=_" => {
                let smaller = args.iter().map(|side| side.size().1).min().unwrap_or(1);
                scalar(times(smaller, TRAVERSAL))
            }
            "_<_" | "_<=_" | "_>_" | "_>=_" => {
                let smaller = args.iter().map(|side| side.size().1).min().unwrap_or(1);
                let text = args.iter().any(|side| is_text(side.shape));
                scalar(if text { times(smaller, TRAVERSAL) } else { 1 })
            }
            "@in" | "_in_" => {
                // Looking a key up costs one step, whatever the map.
                let list = args.get(1).filter(|of| of.size.is_some() || is_list(of.shape));
                scalar(list.map_or(1, |list| list.size().1))
            }
            "_+_" => {
                let sizes = args.iter().map(Estimate::size);
                let size = sizes.fold((0, 0), |sum: Size, part| {
                    (sum.0.saturating_add(part.0), sum.1.saturating_add(part.1))
                });
                if args.iter().any(|side| is_list(side.shape)) {
                    return with(1, Some(size), args.first().map_or(Shape::Unknown, |side| side.shape));
                }
                let numbers = args.iter().all(|side| side.size() == ONE && !is_text(side.shape));
                if numbers {
                    scalar(1)
                } else {
                    with(times(size.1, TRAVERSAL), Some(size), Shape::Unknown)
                }
            }
            "_[_]" | "_[?_]" | "_?._" => {
                let shape = match args.first().map(|of| of.shape) {
                    Some(Shape::Known(node)) => node
                        .items
                        .as_ref()
                        .or(node.additional.as_ref())
                        .map_or(Shape::Unknown, |item| Shape::Known(item)),
                    _ => Shape::Unknown,
                };
                with(1, None, shape)
            }
            "startsWith" | "endsWith" => scalar(times(first.1, TRAVERSAL)),
            "contains" => scalar(times(subject.1, TRAVERSAL).saturating_mul(times(first.1, TRAVERSAL))),
            "matches" => {
                let pattern = args.last().map_or(UNKNOWN, Estimate::size);
                let text = times(subject.1.saturating_add(1), TRAVERSAL);
                scalar(text.saturating_mul(times(pattern.1, REGEX)))
            }
            "find" | "findAll" => {
                let text = times(subject.1.saturating_add(1), TRAVERSAL);
                let cost = text.saturating_mul(times(first.1, REGEX));
                with(cost, Some((0, subject.1)), Shape::Texts)
            }
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" | "includes" if target.is_some() => {
                let of = target.unwrap_or(Estimate::of(Shape::Unknown));
                if is_text(of.shape) {
                    return scalar(times(subject.1, TRAVERSAL));
                }
                let item = of.item();
                let each = if is_text(item.shape) {
                    times(item.size().1, TRAVERSAL).saturating_add(1)
                } else {
                    1
                };
                scalar(subject.1.saturating_mul(each))
            }
            "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" => {
                with(times(subject.1, TRAVERSAL), Some(subject), Shape::Unknown)
            }
            "replace" => {
                let (from, to) = (first, args.get(1).map_or(UNKNOWN, Estimate::size));
                let (count, kept) = if from.0 == 0 {
                    (subject.1.saturating_add(1), subject.1)
                } else if to.1 <= from.0 {
                    (0, subject.1)
                } else {
                    (subject.1.div_ceil(from.0), 0)
                };
                let most = count.saturating_mul(to.1).saturating_add(kept);
                with(times(subject.1, 2.0 * TRAVERSAL), Some((0, most)), Shape::Unknown)
            }
            "split" => with(times(subject.1, 2.0 * TRAVERSAL), Some((0, subject.1)), Shape::Texts),
            "join" => {
                let item = target.map_or(UNKNOWN, |list| list.item().size());
                let separators = subject.1.saturating_sub(1);
                let between = args.first().map_or(0, |by| by.size().1.saturating_mul(separators));
                let size = subject.1.saturating_mul(item.1).saturating_add(between);
                with(times(size, TRAVERSAL), Some((0, size)), Shape::Unknown)
            }
            "quantity" | "isQuantity" | "semver" | "isSemver" | "cidr" | "isIP" | "isCIDR" | "ip" | "isURL" => {
                scalar(times(first.1, TRAVERSAL))
            }
            "validate" => scalar(times(times(first.1, TRAVERSAL), 128.0 * REGEX)),
            "check" => scalar(350_000),
            "int" | "uint" | "double" | "bool" | "size" | "type" | "duration" | "timestamp" => scalar(1),
            _ => with(1, None, Shape::Unknown),
        }
    }
}

fn item_shape(item: Estimate<'_>) -> Shape<'_> {
    match item.shape {
        Shape::Known(_) => Shape::Unknown,
        other => other,
    }
}

fn times(size: u64, factor: f64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, which ends at the largest number"
    )]
    let cost = (size as f64 * factor).ceil() as u64;
    cost
}

fn literal_size(literal: &LiteralValue) -> Size {
    let length = match literal {
        LiteralValue::String(text) => text.inner().len(),
        LiteralValue::Bytes(bytes) => bytes.inner().len(),
        _ => 1,
    } as u64;
    (length, length)
}

fn is_text(shape: Shape<'_>) -> bool {
    matches!(shape, Shape::Known(node) if node.kind == Type::String) || matches!(shape, Shape::Key)
}

fn is_list(shape: Shape<'_>) -> bool {
    matches!(shape, Shape::Texts) || matches!(shape, Shape::Known(node) if node.kind == Type::Array)
}

fn field<'n>(node: &'n Node, name: &str) -> Shape<'n> {
    let property = node.properties.iter().find(|p| value::escaped(&p.name) == name);
    let known = property.map(|p| &*p.node).or(node.additional.as_deref());
    known.map_or(Shape::Unknown, Shape::Known)
}

/// How many characters, items or keys a value of the schema can have.
fn most_elements(node: &Node) -> u64 {
    let rules = node.validations.as_deref();
    let format = rules.and_then(|rules| rules.format.as_deref());
    if node.format == Format::IntOrString {
        let most = rules.and_then(|rules| rules.max_length);
        return most.map_or(REQUEST - 2, |most| most.saturating_mul(4));
    }
    match node.kind {
        Type::String => match (rules.and_then(|rules| rules.max_length), format) {
            (_, Some("duration" | "date-time")) => 32,
            (_, Some("date")) => 12,
            (Some(most), Some("byte")) => most,
            (Some(most), _) => most.saturating_mul(4),
            (None, Some("byte")) => REQUEST - 2,
            (None, _) => {
                let words = rules.and_then(|rules| rules.enumeration.as_ref());
                let longest = words.map(|words| words.iter().filter_map(|w| w.as_str()).map(str::len).max());
                longest.map_or(REQUEST - 2, |longest| longest.unwrap_or(0) as u64)
            }
        },
        Type::Array => {
            let most = rules.and_then(|rules| rules.max_items);
            most.unwrap_or_else(|| {
                let least = node.items.as_ref().map_or(0, |item| least_bytes(item));
                (REQUEST - 2) / (least + 1)
            })
        }
        Type::Object => match &node.additional {
            Some(item) => {
                let most = rules.and_then(|rules| rules.max_properties);
                most.unwrap_or_else(|| (REQUEST - 2) / (least_bytes(item) + 6))
            }
            None => 0,
        },
        _ => 0,
    }
}

/// The fewest bytes that a value of the schema takes in a request.
fn least_bytes(node: &Node) -> u64 {
    if node.format == Format::IntOrString {
        return 1;
    }
    let format = node.validations.as_deref().and_then(|rules| rules.format.as_deref());
    match (node.kind, format) {
        (Type::Array, _) => 2,
        (Type::Object, _) => {
            let required = node
                .properties
                .iter()
                .filter(|property| property.default.is_none() && node.required.contains(&property.name));
            required.fold(2, |sum, property| {
                sum + property.name.len() as u64 + least_bytes(&property.node) + 4
            })
        }
        (Type::String, Some("duration")) => 3,
        (Type::String, Some("date")) => 12,
        (Type::String, Some("date-time")) => 21,
        (Type::String, _) => 2,
        (Type::Boolean, _) => 4,
        (Type::Integer | Type::Number, _) => 1,
        (Type::Any, _) => 0,
    }
}
