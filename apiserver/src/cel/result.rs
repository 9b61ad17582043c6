//! The type of an expression's value, as far as it shows without a schema.

use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr, LiteralValue};

/// The type's name as the compiler prints it; none when it does not show.
pub(super) fn of(node: &IdedExpr) -> Option<String> {
    let name = match &node.expr {
        Expr::Literal(literal) => match literal {
            LiteralValue::Boolean(_) => "bool",
            LiteralValue::Bytes(_) => "bytes",
            LiteralValue::Double(_) => "double",
            LiteralValue::Int(_) => "int",
            LiteralValue::Null => "null_type",
            LiteralValue::String(_) => "string",
            LiteralValue::UInt(_) => "uint",
        },
        Expr::Select(select) if select.test => "bool",
        Expr::Select(_) | Expr::Ident(_) => "dyn",
        Expr::List(list) => return Some(format!("list({})", common(&list.elements)?)),
        Expr::Struct(built) => &built.type_name,
        Expr::Comprehension(of_loop) => {
            let found = match &of_loop.result.expr {
                Expr::Ident(name) if *name == of_loop.accu_var => of(&of_loop.accu_init),
                _ => of(&of_loop.result),
            };
            return found;
        }
        Expr::Call(call) => return of_call(call),
        Expr::Map(_) | Expr::Unspecified => return None,
    };
    Some(name.to_owned())
}

fn of_call(call: &CallExpr) -> Option<String> {
    let name = match call.func_name.as_str() {
        "_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_" | "_&&_" | "_||_" | "!_" | "@in" | "_in_" | "startsWith"
        | "endsWith" | "contains" | "matches" | "allowed" | "errored" | "isQuantity" | "isURL" | "isIP" | "isCIDR"
        | "bool" => "bool",
        "size" | "int" | "indexOf" | "lastIndexOf" => "int",
        "string" | "lowerAscii" | "upperAscii" | "replace" | "substring" | "trim" | "join" | "format" | "charAt" => {
            "string"
        }
        "double" => "double",
        "uint" => "uint",
        "_?_:_" => return common(call.args.get(1..)?),
        "_+_" | "_-_" | "_*_" | "_/_" | "_%_" => {
            let sides = (of(call.args.first()?)?, of(call.args.get(1)?)?);
            return Some(match sides {
                (left, right) if left == right || right == "dyn" => left,
                (left, right) if left == "dyn" => right,
                _ => return None,
            });
        }
        "_[_]" => "dyn",
        _ => return None,
    };
    Some(name.to_owned())
}

/// The one type of several parts; `dyn` when they differ or there are none.
fn common(parts: &[IdedExpr]) -> Option<String> {
    let types: Vec<String> = parts.iter().map(of).collect::<Option<_>>()?;
    match types.split_first() {
        Some((first, rest)) if rest.iter().all(|other| other == first) => Some(first.clone()),
        _ => Some("dyn".to_owned()),
    }
}
