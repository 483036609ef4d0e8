//! The text of what is emitted.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::Form;
use super::guard::Guard;
use super::rules::Claim;

/// Columns of a line, tabs counted as eight, as in the kernel.
const COLUMNS: usize = 100;

/// What is asserted of one type by one table of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The type as C names it, for messages and names of functions.
    pub type_name: String,
    /// Where the type is declared, and why it is asserted.
    pub head: Vec<String>,
    /// A declaration that the claims rely on.
    pub declaration: Option<String>,
    /// When it applies; expressions of `#if`.
    pub guard: Vec<String>,
    /// In order.
    pub items: Vec<Item>,
}

/// One thing that is emitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub what: What,
    /// Bytes of the pointers of the files in which it was seen; empty: it holds for any.
    pub pointer_bytes: BTreeSet<u64>,
    /// Bytes of a line, if it matters.
    pub line_bytes: Option<u64>,
    /// What else must be so; expressions of `#if`.
    pub guard: Vec<String>,
}

/// Kinds of things.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A condition.
    Claim(Claim),
    /// A macro that can only be called in a function.
    Call(String),
    /// Said, not asserted.
    Note(String),
}

impl What {
    /// Whether nothing is gained by emitting both.
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Claim(a), Self::Claim(b)) => a.condition == b.condition,
            _ => self == other,
        }
    }
}

impl Item {
    fn guard(&self, form: Form) -> Vec<String> {
        let mut guard = self.guard.clone();
        if let (1, Some(bytes)) = (self.pointer_bytes.len(), self.pointer_bytes.first()) {
            guard.push(Guard::pointer(*bytes, form));
        }
        // The text of the other form holds the number itself.
        if let (Some(bytes), Form::Kernel) = (self.line_bytes, form) {
            guard.push(format!("SMP_CACHE_BYTES == {bytes}"));
        }
        guard
    }
}

impl Block {
    /// Its lines. `function_number` tells functions about the same type apart.
    pub fn render(&self, form: Form, function_number: usize) -> String {
        let mut text = comment(&self.head);
        let guard = self.guard.join(" && ");
        if !guard.is_empty() {
            let _ = writeln!(text, "#if {guard}");
        }
        text.extend(self.declaration.iter().map(|line| format!("{line}\n")));
        let (calls, others): (Vec<&Item>, Vec<&Item>) = self
            .items
            .iter()
            .partition(|item| matches!(item.what, What::Call(_)));
        self.guarded(&others, form, &mut text);
        if !calls.is_empty() {
            let name = function_name(&self.type_name, function_number);
            let _ = write!(text, "static void __init __used {name}(void)\n{{\n");
            self.guarded(&calls, form, &mut text);
            text.push_str("}\n");
        }
        if !guard.is_empty() {
            let _ = writeln!(text, "#endif /* {guard} */");
        }
        text
    }

    /// The items, those that follow each other with the same guard within one `#if`. Notes need none.
    fn guarded(&self, items: &[&Item], form: Form, text: &mut String) {
        let mut open: Vec<String> = Vec::new();
        for item in items {
            let wanted: Vec<String> = match item.what {
                What::Note(_) => Vec::new(),
                _ => (item.guard(form).into_iter())
                    .filter(|one| !self.guard.contains(one))
                    .collect(),
            };
            if wanted != open {
                close(&open, text);
                if !wanted.is_empty() {
                    let _ = writeln!(text, "#if {}", wanted.join(" && "));
                }
                open = wanted;
            }
            match &item.what {
                What::Claim(claim) => text.push_str(&assertion(&self.type_name, claim)),
                What::Call(call) => {
                    let _ = writeln!(text, "\t{call};");
                }
                What::Note(note) => text.push_str(&comment(std::slice::from_ref(note))),
            }
        }
        close(&open, text);
    }
}

fn close(open: &[String], text: &mut String) {
    if !open.is_empty() {
        text.push_str("#endif\n");
    }
}

/// `static_assert(CONDITION,\n\t      "MESSAGE");`
fn assertion(type_name: &str, claim: &Claim) -> String {
    let indent = "\n\t      ";
    let whole = claim.condition.join(" ");
    let opening = "static_assert(";
    let condition = if opening.len() + whole.len() < COLUMNS {
        whole
    } else {
        claim.condition.join(indent)
    };
    let message = format!("{type_name}: {}", claim.says);
    format!("{opening}{condition},{indent}\"{}\");\n", literal(&message))
}

fn literal(text: &str) -> String {
    let shown = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut quoted = String::new();
    for c in shown {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted
}

/// A comment of the paragraphs, in lines that fit.
pub fn comment(paragraphs: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in paragraphs {
        // Names and reasons come from outside: they must not end the comment.
        let clean = paragraph.replace("*/", "* /").replace("/*", "/ *");
        let mut line = String::new();
        for word in clean.split_whitespace() {
            if !line.is_empty() && line.len() + word.len() + 4 > COLUMNS {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    match &lines[..] {
        [] => String::new(),
        [line] if line.len() + 6 <= COLUMNS => format!("/* {line} */\n"),
        lines => {
            let body: String = lines.iter().map(|line| format!(" * {line}\n")).collect();
            format!("/*\n{body} */\n")
        }
    }
}

fn function_name(type_name: &str, number: usize) -> String {
    let own = type_name.rsplit(' ').next().unwrap_or(type_name);
    let letters = own
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    let letters: String = letters.collect();
    match number {
        0 => format!("relayout_check_{letters}"),
        _ => format!("relayout_check_{letters}_{number}"),
    }
}
