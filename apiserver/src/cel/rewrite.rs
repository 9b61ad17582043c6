//! Expressions made ready for the evaluator: it has no messages, so `Object{a: 1}` is built as a map.

use kube_cel::cel::common::ast::{EntryExpr, Expr, IdedEntryExpr, IdedExpr, LiteralValue, MapEntryExpr, MapExpr};
use kube_cel::cel::parser::Expression;

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
