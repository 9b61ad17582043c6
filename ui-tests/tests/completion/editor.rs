//! A client of rust-analyzer that opens one text and asks what may stand at the caret.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// Before each text: what the file of an author would import.
const PREAMBLE: &str = "use kubewright::prelude::*;\nuse crate::App;\n";

/// What the editor offers.
pub(crate) struct Item {
    pub(crate) label: String,
    /// The text that choosing it writes.
    pub(crate) inserted: String,
    pub(crate) documentation: String,
}

/// A running rust-analyzer that has loaded this package.
pub(crate) struct Editor {
    process: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    ids: u64,
    versions: u64,
    uri: String,
}

impl Editor {
    /// Starts it and waits until it has loaded the package.
    ///
    /// # Errors
    ///
    /// Why there is none to ask.
    pub(crate) fn start() -> Result<Editor, String> {
        let found = Command::new("rust-analyzer").arg("--version").output();
        match found {
            Ok(output) if output.status.success() => {}
            Ok(output) => return Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(e) => return Err(format!("rust-analyzer does not start: {e}")),
        }
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut process = Command::new("rust-analyzer")
            .current_dir(package)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("rust-analyzer does not start: {e}"))?;
        let stdin = process.stdin.take().expect("it is piped");
        let stdout = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut editor = Editor {
            process,
            stdin,
            stdout,
            ids: 0,
            versions: 0,
            uri: format!("file://{}", package.join("src/editor.rs").display()),
        };
        editor.initialize(package);
        Ok(editor)
    }

    /// What is offered at `|` in `text`, which stands in a module of this package.
    pub(crate) fn complete(&mut self, text: &str) -> Vec<Item> {
        let whole = format!("{PREAMBLE}{text}");
        let caret = whole.find('|').expect("the text has a caret");
        let line = whole[..caret].matches('\n').count();
        let column = caret - whole[..caret].rfind('\n').map_or(0, |at| at + 1);
        self.write_file(&whole.replacen('|', "", 1));
        let answer = self.request(
            "textDocument/completion",
            &json!({ "textDocument": { "uri": self.uri }, "position": { "line": line, "character": column } }),
        );
        let items = answer["items"].as_array().or_else(|| answer.as_array());
        items.into_iter().flatten().map(item).collect()
    }

    fn initialize(&mut self, package: &Path) {
        let target = package.join("../target/tests/rust-analyzer");
        self.request(
            "initialize",
            &json!({
                "processId": std::process::id(),
                "rootUri": format!("file://{}", package.display()),
                "capabilities": {
                    "experimental": { "serverStatusNotification": true },
                    "textDocument": { "completion": { "completionItem": { "documentationFormat": ["plaintext"] } } },
                },
                "initializationOptions": {
                    "checkOnSave": false,
                    "cachePriming": { "enable": false },
                    "cargo": { "targetDir": target, "allTargets": false },
                    "procMacro": { "enable": true },
                    "completion": { "autoimport": { "enable": false } },
                },
            }),
        );
        self.notify("initialized", &json!({}));
        self.versions = 1;
        let opened = json!({ "uri": self.uri, "languageId": "rust", "version": 1, "text": "" });
        self.notify("textDocument/didOpen", &json!({ "textDocument": opened }));
        self.read_until(|message| {
            message["method"] == "experimental/serverStatus" && message["params"]["quiescent"] == true
        });
    }

    fn write_file(&mut self, text: &str) {
        self.versions += 1;
        let file = json!({ "uri": self.uri, "version": self.versions });
        self.notify(
            "textDocument/didChange",
            &json!({ "textDocument": file, "contentChanges": [{ "text": text }] }),
        );
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.ids += 1;
        let id = self.ids;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut answer = self.read_until(|message| message["id"] == id && message.get("method").is_none());
        assert!(
            answer.get("error").is_none(),
            "{method} is refused: {}",
            answer["error"]
        );
        answer["result"].take()
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.stdin, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("rust-analyzer reads");
        self.stdin.flush().expect("rust-analyzer reads");
    }

    /// Reads up to the message that is waited for, and answers what rust-analyzer itself asks.
    fn read_until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.read();
            if wanted(&message) {
                return message;
            }
            if message.get("method").is_some() && message.get("id").is_some() {
                self.send(&json!({ "jsonrpc": "2.0", "id": message["id"], "result": null }));
            }
        }
    }

    fn read(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            let read = self.stdout.read_line(&mut line).expect("rust-analyzer writes lines");
            assert!(read > 0, "rust-analyzer has ended");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", value)) => length = value.parse().expect("a length is a number"),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.stdout
            .read_exact(&mut body)
            .expect("rust-analyzer writes what it announced");
        serde_json::from_slice(&body).expect("rust-analyzer writes JSON")
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        // It keeps nothing that an orderly end would save.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn item(of: &Value) -> Item {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let label = text(&of["label"]);
    let edit = of["textEdit"]["newText"].as_str().or_else(|| of["insertText"].as_str());
    let documentation = of["documentation"]["value"]
        .as_str()
        .or_else(|| of["documentation"].as_str());
    Item {
        inserted: edit.unwrap_or(&label).to_owned(),
        documentation: documentation.unwrap_or_default().to_owned(),
        label: label
            .split(['(', ' ', '…'])
            .next()
            .unwrap_or_default()
            .trim_start_matches("r#")
            .to_owned(),
    }
}
