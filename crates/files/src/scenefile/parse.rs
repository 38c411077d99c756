//! TOML and JSON texts into the one tree. TOML goes on after a syntax error and reports them all.

use super::fault::Fault;
use super::node::{Entry, Node, Span, Value};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a text; which language it is, its first character says (`{` opens JSON, and no TOML file).
pub fn parse(file: usize, text: &str) -> (Node, Vec<Fault>) {
    if text.trim_start().starts_with('{') { parse_json(file, text) } else { parse_toml(file, text) }
}

fn parse_toml(file: usize, text: &str) -> (Node, Vec<Fault>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut faults: Vec<Fault> = errors
        .iter()
        .map(|e| Fault {
            span: Span::new(file, e.span().unwrap_or(0..0)),
            message: e.message().lines().next().unwrap_or("syntax error").to_string(),
            wanted: "TOML cannot be read here".into(),
        })
        .collect();
    let span = table.span();
    let node = table_node(file, table.into_inner(), span, &mut faults);
    (node, faults)
}

fn table_node(
    file: usize,
    table: DeTable<'_>,
    span: std::ops::Range<usize>,
    faults: &mut Vec<Fault>,
) -> Node {
    let mut entries: Vec<Entry> = table
        .into_iter()
        .map(|(key, value)| Entry {
            place: Span::new(file, key.span()),
            key: key.into_inner().into_owned(),
            node: value_node(file, value, faults),
        })
        .collect();
    entries.sort_by_key(|e| e.place.start);
    Node { span: Span::new(file, span), value: Value::Table(entries) }
}

fn value_node(file: usize, value: Spanned<DeValue<'_>>, faults: &mut Vec<Fault>) -> Node {
    let range = value.span();
    let span = Span::new(file, range.clone());
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Boolean(value) => Value::Bool(value),
        DeValue::Integer(n) => number(
            i128::from_str_radix(n.as_str(), n.radix()).ok().map(|i| i as f64),
            &span,
            faults,
        ),
        DeValue::Float(n) => number(n.as_str().parse().ok(), &span, faults),
        DeValue::Datetime(date) => Value::Text(date.to_string()),
        DeValue::Array(list) => {
            Value::List(list.into_iter().map(|v| value_node(file, v, faults)).collect())
        }
        DeValue::Table(table) => return table_node(file, table, range, faults),
    };
    Node { span, value }
}

fn number(value: Option<f64>, span: &Span, faults: &mut Vec<Fault>) -> Value {
    if value.is_none() {
        faults.push(Fault {
            span: span.clone(),
            message: "this number cannot be read".into(),
            wanted: "a decimal number".into(),
        });
    }
    Value::Number(value.unwrap_or(0.0))
}

fn parse_json(file: usize, text: &str) -> (Node, Vec<Fault>) {
    let mut json = Json { file, text, at: 0, depth: 0 };
    let result = json.value().and_then(|node| {
        json.space();
        if json.at < text.len() {
            Err(json.fault("something follows the end of the scene", "the end of the file"))
        } else {
            Ok(node)
        }
    });
    match result {
        Ok(node) => (node, Vec::new()),
        Err(fault) => {
            (Node { span: Span::new(file, 0..0), value: Value::Table(Vec::new()) }, vec![fault])
        }
    }
}

/// A reader of JSON that keeps places. Nesting is bounded, so that no text can exhaust the stack.
struct Json<'a> {
    file: usize,
    text: &'a str,
    at: usize,
    depth: usize,
}

const MAX_NESTING: usize = 64;

impl Json<'_> {
    fn fault(&self, message: &str, wanted: &str) -> Fault {
        let end = self.text[self.at..].chars().next().map_or(self.at, |c| self.at + c.len_utf8());
        Fault {
            span: Span::new(self.file, self.at..end),
            message: message.into(),
            wanted: format!("wanted {wanted}"),
        }
    }

    fn space(&mut self) {
        self.at += self.text[self.at..].len()
            - self.text[self.at..].trim_start_matches([' ', '\t', '\r', '\n', '\u{feff}']).len();
    }

    fn peek(&mut self) -> Option<u8> {
        self.space();
        self.text.as_bytes().get(self.at).copied()
    }

    fn value(&mut self) -> Result<Node, Fault> {
        let first = self.peek();
        let start = self.at;
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(self.fault("lists and tables are nested too deeply", "at most 64 levels"));
        }
        let value = match first {
            Some(b'{') => self.table()?,
            Some(b'[') => self.list()?,
            Some(b'"') => Value::Text(self.string()?),
            _ => self.word()?,
        };
        self.depth -= 1;
        Ok(Node { span: Span::new(self.file, start..self.at), value })
    }

    fn table(&mut self) -> Result<Value, Fault> {
        self.at += 1;
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            match self.peek() {
                Some(b'}') if entries.is_empty() => break,
                Some(b'"') => {}
                _ => return Err(self.fault("no key stands here", "a key in double quotes")),
            }
            let start = self.at;
            let key = self.string()?;
            let place = Span::new(self.file, start..self.at);
            if entries.iter().any(|e| e.key == key) {
                return Err(Fault {
                    span: place,
                    message: format!("the key `{key}` stands twice"),
                    wanted: "wanted it once".into(),
                });
            }
            if self.peek() != Some(b':') {
                return Err(self.fault("no value follows the key", "`:`"));
            }
            self.at += 1;
            entries.push(Entry { key, place, node: self.value()? });
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.fault("the table is not closed", "`,` or `}`")),
            }
        }
        self.at += 1;
        Ok(Value::Table(entries))
    }

    fn list(&mut self) -> Result<Value, Fault> {
        self.at += 1;
        let mut list = Vec::new();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::List(list));
        }
        loop {
            list.push(self.value()?);
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.fault("the list is not closed", "`,` or `]`")),
            }
        }
        self.at += 1;
        Ok(Value::List(list))
    }

    /// A string with its escapes; serde_json knows them all.
    fn string(&mut self) -> Result<String, Fault> {
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        while end < bytes.len() && bytes[end] != b'"' && bytes[end] != b'\n' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if bytes.get(end) != Some(&b'"') {
            return Err(self.fault("the text is not closed", "`\"` on the same line"));
        }
        let text = serde_json::from_str(&self.text[self.at..=end]).map_err(|_| {
            self.fault("the text has a wrong escape", "one of \\n \\t \\\" \\\\ \\uXXXX")
        })?;
        self.at = end + 1;
        Ok(text)
    }

    fn word(&mut self) -> Result<Value, Fault> {
        let rest = &self.text[self.at..];
        let word = &rest[..rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || "+-._".contains(c)))
            .unwrap_or(rest.len())];
        let value = match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            _ => match serde_json::from_str::<f64>(word) {
                Ok(number) => Value::Number(number),
                Err(_) => {
                    return Err(self.fault(
                        "no value stands here",
                        "a number, a text in double quotes, true, false, a list or a table",
                    ));
                }
            },
        };
        self.at += word.len();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same tree without its places.
    fn plain(node: &Node) -> String {
        match &node.value {
            Value::Table(entries) => {
                entries.iter().map(|e| format!("{}:{} ", e.key, plain(&e.node))).collect()
            }
            Value::List(list) => {
                format!("[{}]", list.iter().map(plain).collect::<Vec<_>>().join(","))
            }
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn both_languages_give_the_same_tree() {
        let (a, fa) = parse(0, "z = 1\na = [1.5, \"x\", true]\n[t]\nk = {}\n");
        let (b, fb) = parse(0, r#"{"z": 1, "a": [1.5, "x", true], "t": {"k": {}}}"#);
        assert!(fa.is_empty() && fb.is_empty());
        assert_eq!(plain(&a), plain(&b));
    }

    #[test]
    fn wrong_texts_are_refused_with_a_place_and_without_panic() {
        for text in [
            "{",
            "{\"a\"",
            "{\"a\":}",
            "{\"a\":1,}",
            "{\"a\":1 \"b\"",
            "{\"a\":\"é\\q\"}",
            "{\"a\":1}x",
            "{\"a\":1,\"a\":2}",
            "{é}",
            "{\"é",
        ] {
            assert_eq!(parse(0, text).1.len(), 1, "{text}");
        }
        assert_eq!(parse(0, &"{\"a\":".repeat(100_000)).1.len(), 1);
        // TOML: two faults in one go.
        assert!(parse(0, "a = \nb = 1\nc = = 2\n").1.len() >= 2);
    }
}
