//! Expressions made ready for the evaluator: it has no messages, so `Object{a: 1}` is built as a map.

use kube_cel::cel::common::ast::{
    CallExpr, EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, MapEntryExpr, MapExpr,
};
use kube_cel::cel::parser::Expression;

use super::builtin::EQUAL_UNORDERED;

const OPTIONAL_SELECT: &str = "_?._";
const OPTIONAL_INDEX: &str = "_[?_]";

/// The expression with every message written as a map of its fields.
pub(super) fn structs_to_maps(expression: &Expression) -> Expression {
    let mut expression = expression.clone();
    walk_mut(&mut expression, &mut |node| {
        if let Expr::Struct(built) = &node.expr {
            let entries = built.entries.iter().map(|entry| match &entry.expr {
                EntryExpr::StructField(field) => IdedEntryExpr {
                    id: entry.id,
                    expr: EntryExpr::MapEntry(MapEntryExpr {
                        key: IdedExpr {
                            id: entry.id,
                            expr: Expr::Literal(LiteralValue::String(field.field.clone().into())),
                        },
                        value: field.value.clone(),
                        optional: field.optional,
                    }),
                },
                EntryExpr::MapEntry(_) => entry.clone(),
            });
            node.expr = Expr::Map(MapExpr {
                entries: entries.collect(),
            });
        }
    });
    expression
}

/// The expression with `a.?b`, and fields of what it gives, written as `a[?'b']`, which the evaluator understands fully.
pub(super) fn optional_selects(mut expression: Expression) -> Expression {
    walk_mut(&mut expression, &mut |node| match &mut node.expr {
        Expr::Call(call) if call.func_name == OPTIONAL_SELECT => OPTIONAL_INDEX.clone_into(&mut call.func_name),
        Expr::Select(select) if !select.test && is_optional(&select.operand) => {
            let key = IdedExpr {
                id: node.id,
                expr: Expr::Literal(LiteralValue::String(select.field.clone().into())),
            };
            node.expr = Expr::Call(CallExpr {
                func_name: OPTIONAL_INDEX.to_owned(),
                target: None,
                args: vec![(*select.operand).clone(), key],
            });
        }
        _ => {}
    });
    expression
}

fn is_optional(node: &IdedExpr) -> bool {
    match &node.expr {
        Expr::Call(call) if call.func_name == OPTIONAL_INDEX => true,
        Expr::Call(call) if call.func_name == "_[_]" => call.args.first().is_some_and(is_optional),
        _ => false,
    }
}

/// Writes comparisons of lists without an order as calls; `is_unordered` knows the value at a path of fields.
pub(super) fn compare_unordered(expression: &mut Expression, is_unordered: &dyn Fn(&[&str]) -> Option<bool>) {
    walk_mut(expression, &mut |node| {
        let Expr::Call(call) = &mut node.expr else { return };
        let differ = call.func_name == "_!=_";
        if !differ && call.func_name != "_==_" {
            return;
        }
        let unordered = call.args.iter().any(|side| {
            let path = path_of(side).unwrap_or_default();
            is_unordered(&path) == Some(true)
        });
        if !unordered {
            return;
        }
        EQUAL_UNORDERED.clone_into(&mut call.func_name);
        if differ {
            let equal = node.clone();
            node.expr = Expr::Call(CallExpr {
                func_name: "!_".to_owned(),
                target: None,
                args: vec![equal],
            });
        }
    });
}

/// `self.a.b` as its steps.
fn path_of(node: &IdedExpr) -> Option<Vec<&str>> {
    match &node.expr {
        Expr::Ident(name) => Some(vec![name]),
        Expr::Select(select) if !select.test => {
            let mut path = path_of(&select.operand)?;
            path.push(&select.field);
            Some(path)
        }
        _ => None,
    }
}

/// Whether a macro in the expression binds the name.
pub(super) fn binds(expression: &Expression, name: &str) -> bool {
    let mut found = false;
    walk(expression, &mut |node| {
        if let Expr::Comprehension(loop_) = &node.expr {
            found |= loop_.iter_var == name || loop_.accu_var == name || loop_.iter_var2.as_deref() == Some(name);
        }
    });
    found
}

/// The fields that the expression selects from a variable, in order.
pub(super) fn fields_of(expression: &Expression, variable: &str) -> Vec<String> {
    let mut fields = Vec::new();
    walk(expression, &mut |node| {
        if let Expr::Select(select) = &node.expr
            && matches!(&select.operand.expr, Expr::Ident(name) if name == variable)
        {
            fields.push(select.field.clone());
        }
    });
    fields
}

fn walk(node: &IdedExpr, visit: &mut dyn FnMut(&IdedExpr)) {
    visit(node);
    match &node.expr {
        Expr::Call(call) => call
            .target
            .iter()
            .map(AsRef::as_ref)
            .chain(&call.args)
            .for_each(|part| walk(part, visit)),
        Expr::Comprehension(of) => {
            for part in [&of.iter_range, &of.accu_init, &of.loop_cond, &of.loop_step, &of.result] {
                walk(part, visit);
            }
        }
        Expr::List(list) => list.elements.iter().for_each(|part| walk(part, visit)),
        Expr::Select(select) => walk(&select.operand, visit),
        Expr::Map(map) => map.entries.iter().for_each(|entry| walk_entry(entry, visit)),
        Expr::Struct(built) => built.entries.iter().for_each(|entry| walk_entry(entry, visit)),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
    }
}

fn walk_entry(entry: &IdedEntryExpr, visit: &mut dyn FnMut(&IdedExpr)) {
    match &entry.expr {
        EntryExpr::StructField(field) => walk(&field.value, visit),
        EntryExpr::MapEntry(pair) => {
            walk(&pair.key, visit);
            walk(&pair.value, visit);
        }
    }
}

/// Visits parts before what they are part of.
fn walk_mut(node: &mut IdedExpr, visit: &mut dyn FnMut(&mut IdedExpr)) {
    match &mut node.expr {
        Expr::Call(call) => {
            if let Some(target) = &mut call.target {
                walk_mut(target, visit);
            }
            call.args.iter_mut().for_each(|part| walk_mut(part, visit));
        }
        Expr::Comprehension(of) => {
            for part in [
                &mut of.iter_range,
                &mut of.accu_init,
                &mut of.loop_cond,
                &mut of.loop_step,
                &mut of.result,
            ] {
                walk_mut(part, visit);
            }
        }
        Expr::List(list) => list.elements.iter_mut().for_each(|part| walk_mut(part, visit)),
        Expr::Select(select) => walk_mut(&mut select.operand, visit),
        Expr::Map(map) => map.entries.iter_mut().for_each(|entry| walk_entry_mut(entry, visit)),
        Expr::Struct(built) => built.entries.iter_mut().for_each(|entry| walk_entry_mut(entry, visit)),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => {}
    }
    visit(node);
}

fn walk_entry_mut(entry: &mut IdedEntryExpr, visit: &mut dyn FnMut(&mut IdedExpr)) {
    match &mut entry.expr {
        EntryExpr::StructField(field) => walk_mut(&mut field.value, visit),
        EntryExpr::MapEntry(pair) => {
            walk_mut(&mut pair.key, visit);
            walk_mut(&mut pair.value, visit);
        }
    }
}
