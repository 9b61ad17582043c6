//! The words in which Go's `encoding/json` complains about a text.

/// What Go says of a text that is not JSON; empty for a text that is.
pub(crate) fn complaint(text: &[u8]) -> String {
    let mut scanner = Scanner { text, at: 0 };
    match scanner.document() {
        Ok(()) => String::new(),
        Err(Fault::End) => "unexpected end of JSON input".to_owned(),
        Err(Fault::Unexpected(byte, context)) => format!("invalid character {} {context}", quoted(byte)),
        Err(Fault::Depth) => "exceeded max depth".to_owned(),
    }
}

/// How many levels Go's scanner goes down.
const MAX_DEPTH: usize = 10_000;

enum Fault {
    End,
    Unexpected(u8, String),
    Depth,
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
}

type Scanned = Result<(), Fault>;

impl Scanner<'_> {
    fn document(&mut self) -> Scanned {
        // The open containers: `{` or `[`. A loop rather than recursion, so that hostile nesting costs no stack.
        let mut open: Vec<u8> = Vec::new();
        loop {
            // At the beginning of a value.
            self.space();
            match self.peek()? {
                b'{' => {
                    self.at += 1;
                    open.push(b'{');
                    self.space();
                    match self.peek()? {
                        b'}' => {}
                        b'"' => {
                            self.key()?;
                            continue;
                        }
                        other => return self.fault(other, "looking for beginning of object key string"),
                    }
                }
                b'[' => {
                    self.at += 1;
                    open.push(b'[');
                    self.space();
                    if self.peek()? != b']' {
                        if open.len() > MAX_DEPTH {
                            return Err(Fault::Depth);
                        }
                        continue;
                    }
                }
                b'"' => self.string()?,
                b't' => self.literal(b"true")?,
                b'f' => self.literal(b"false")?,
                b'n' => self.literal(b"null")?,
                b'-' | b'0'..=b'9' => self.number()?,
                other => return self.fault(other, "looking for beginning of value"),
            }
            if open.len() > MAX_DEPTH {
                return Err(Fault::Depth);
            }
            // After a value, or at the end of an empty container.
            loop {
                self.space();
                let Some(container) = open.last().copied() else {
                    return match self.text.get(self.at) {
                        None => Ok(()),
                        Some(&other) => self.fault(other, "after top-level value"),
                    };
                };
                match (container, self.peek()?) {
                    (b'{', b'}') | (b'[', b']') => {
                        self.at += 1;
                        open.pop();
                    }
                    (b'{', b',') => {
                        self.at += 1;
                        self.space();
                        match self.peek()? {
                            b'"' => self.key()?,
                            other => return self.fault(other, "looking for beginning of object key string"),
                        }
                        break;
                    }
                    (b'[', b',') => {
                        self.at += 1;
                        break;
                    }
                    (b'{', other) => return self.fault(other, "after object key:value pair"),
                    (_, other) => return self.fault(other, "after array element"),
                }
            }
        }
    }

    fn key(&mut self) -> Scanned {
        self.string()?;
        self.space();
        match self.peek()? {
            b':' => {
                self.at += 1;
                Ok(())
            }
            other => self.fault(other, "after object key"),
        }
    }

    fn string(&mut self) -> Scanned {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Ok(());
                }
                b'\\' => {
                    self.at += 1;
                    match self.peek()? {
                        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => self.at += 1,
                        b'u' => {
                            self.at += 1;
                            for _ in 0..4 {
                                match self.peek()? {
                                    digit if digit.is_ascii_hexdigit() => self.at += 1,
                                    other => return self.fault(other, "in \\u hexadecimal character escape"),
                                }
                            }
                        }
                        other => return self.fault(other, "in string escape code"),
                    }
                }
                control if control < 0x20 => return self.fault(control, "in string literal"),
                _ => self.at += 1,
            }
        }
    }

    fn literal(&mut self, word: &'static [u8]) -> Scanned {
        for (index, expected) in word.iter().enumerate() {
            match self.peek()? {
                byte if byte == *expected => self.at += 1,
                other => {
                    let (name, expected) = (String::from_utf8_lossy(word), char::from(word[index]));
                    return self.fault(other, &format!("in literal {name} (expecting '{expected}')"));
                }
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Scanned {
        if self.peek()? == b'-' {
            self.at += 1;
            match self.peek()? {
                b'0'..=b'9' => {}
                other => return self.fault(other, "in numeric literal"),
            }
        }
        if self.peek()? == b'0' {
            self.at += 1;
        } else {
            self.digits();
        }
        if self.text.get(self.at) == Some(&b'.') {
            self.at += 1;
            match self.peek()? {
                b'0'..=b'9' => self.digits(),
                other => return self.fault(other, "after decimal point in numeric literal"),
            }
        }
        if matches!(self.text.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek()?, b'+' | b'-') {
                self.at += 1;
            }
            match self.peek()? {
                b'0'..=b'9' => self.digits(),
                other => return self.fault(other, "in exponent of numeric literal"),
            }
        }
        Ok(())
    }

    fn digits(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
        }
    }

    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Result<u8, Fault> {
        self.text.get(self.at).copied().ok_or(Fault::End)
    }

    fn fault(&self, byte: u8, context: &str) -> Scanned {
        Err(Fault::Unexpected(byte, context.to_owned()))
    }
}

fn quoted(byte: u8) -> String {
    match byte {
        b'\'' => "'\\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\n' => "'\\n'".to_owned(),
        b'\t' => "'\\t'".to_owned(),
        b'\r' => "'\\r'".to_owned(),
        0..0x20 | 0x7f => format!("'\\x{byte:02x}'"),
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_refused_in_gos_words() {
        for (text, words) in [
            ("", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            (
                "{nope",
                "invalid character 'n' looking for beginning of object key string",
            ),
            ("{\"a\":1 \"b\"", "invalid character '\"' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("{} {}", "invalid character '{' after top-level value"),
            ("nul!", "invalid character '!' in literal null (expecting 'l')"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("{\"a\":[1,{\"b\":null}],\"c\":-1.5e3}", ""),
        ] {
            assert_eq!(complaint(text.as_bytes()), words, "{text}");
        }
    }

    #[test]
    fn hostile_nesting_is_refused_without_a_stack() {
        assert_eq!(complaint("[".repeat(1_000_000).as_bytes()), "exceeded max depth");
    }
}
