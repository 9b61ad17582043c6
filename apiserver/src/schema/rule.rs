//! One rule of `x-kubernetes-validations`, compiled when it is first needed.

use std::sync::OnceLock;

use serde_json::Value;

use super::node::Node;
use crate::cel::Program;

/// A rule that a schema sets for a value.
#[derive(Debug)]
pub struct Rule {
    /// The expression.
    pub text: String,
    /// What to say when it does not hold; empty for the default.
    pub message: String,
    /// An expression that makes the message; empty for none.
    pub message_expression: String,
    /// Why the value is refused, such as `FieldValueForbidden`; empty for the default.
    pub reason: String,
    /// The field to blame, relative to the value; empty for the value itself.
    pub field_path: String,
    /// Whether the rule runs without an old value, too; `None` when it says nothing.
    pub optional_old_self: Option<bool>,
    program: OnceLock<Result<Program, String>>,
    typed: OnceLock<Option<Program>>,
    message_program: OnceLock<Result<Program, String>>,
}

impl Rule {
    /// Reads a rule as it was written.
    #[must_use]
    pub fn new(written: &Value) -> Self {
        let text = |key: &str| written[key].as_str().unwrap_or_default().to_owned();
        Self {
            text: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: text("reason"),
            field_path: text("fieldPath"),
            optional_old_self: written["optionalOldSelf"].as_bool(),
            program: OnceLock::new(),
            typed: OnceLock::new(),
            message_program: OnceLock::new(),
        }
    }

    /// The expression, compiled.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn program(&self) -> Result<&Program, &String> {
        self.program.get_or_init(|| Program::compile(&self.text)).as_ref()
    }

    /// The expression as it judges values of the schema that the rule belongs to; `None` if it does not compile.
    pub(crate) fn typed(&self, schema: &Node) -> Option<&Program> {
        let typed = self.typed.get_or_init(|| Some(self.program().ok()?.clone().on(schema)));
        typed.as_ref()
    }

    /// The expression that makes the message, compiled; `None` when there is none.
    pub fn message_program(&self) -> Option<Result<&Program, &String>> {
        if self.message_expression.is_empty() {
            return None;
        }
        Some(
            self.message_program
                .get_or_init(|| Program::compile(&self.message_expression))
                .as_ref(),
        )
    }

    /// Whether the rule compares with the old value.
    #[must_use]
    pub fn is_transition(&self) -> bool {
        self.program().is_ok_and(|program| program.references("oldSelf"))
    }
}
