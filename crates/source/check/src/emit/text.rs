//! Text of the emitted assertions.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::EmitForm;
use super::guard::PreprocessorGuard;
use super::rules::LayoutClaim;

/// Maximum width of a line in columns. A tab counts as eight columns, as in the kernel.
const COLUMNS: usize = 100;

/// Assertions about one type from one table of the configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct AssertionBlock {
    /// C name of the type, for messages and function names.
    pub type_name: String,
    /// Comment with the declaration's location and the reason for the rules.
    pub head: Vec<String>,
    /// Declaration that the claims use.
    pub declaration: Option<String>,
    /// Guard of the block: `#if` expressions.
    pub guard: Vec<String>,
    /// Items in output order.
    pub items: Vec<EmittedItem>,
}

/// Emitted claim, call or note.
#[derive(Clone, Debug, PartialEq)]
pub struct EmittedItem {
    /// Content of the item.
    pub content: ItemContent,
    /// Pointer sizes in bytes of the files that showed the item. An empty set means any size.
    pub pointer_bytes: BTreeSet<u64>,
    /// Cache line size in bytes, if the item depends on it.
    pub line_bytes: Option<u64>,
    /// Guard of the item: `#if` expressions.
    pub guard: Vec<String>,
}

/// Kinds of emitted items.
#[derive(Clone, Debug, PartialEq)]
pub enum ItemContent {
    /// Condition in a static assertion.
    Claim(LayoutClaim),
    /// Call of a macro that is only valid in a function.
    Call(String),
    /// Comment without an assertion.
    Note(String),
}

impl ItemContent {
    /// Returns true if both items assert or say the same.
    pub fn says_the_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Claim(a), Self::Claim(b)) => a.condition == b.condition,
            _ => self == other,
        }
    }
}

impl EmittedItem {
    fn guard_expressions(&self, form: EmitForm) -> Vec<String> {
        let mut guard = self.guard.clone();
        if let (1, Some(bytes)) = (self.pointer_bytes.len(), self.pointer_bytes.first()) {
            guard.push(PreprocessorGuard::pointer_condition(*bytes, form));
        }
        // Only the kernel form needs this guard: the static assertion contains the number itself.
        if let (Some(bytes), EmitForm::Kernel) = (self.line_bytes, form) {
            guard.push(format!("SMP_CACHE_BYTES == {bytes}"));
        }
        guard
    }
}

impl AssertionBlock {
    /// Renders the block. `function_number` distinguishes functions about the same type.
    pub fn render(&self, form: EmitForm, function_number: usize) -> String {
        let mut text = comment_text(&self.head);
        let guard = self.guard.join(" && ");
        if !guard.is_empty() {
            let _ = writeln!(text, "#if {guard}");
        }
        text.extend(self.declaration.iter().map(|line| format!("{line}\n")));
        let (calls, others): (Vec<&EmittedItem>, Vec<&EmittedItem>) = self
            .items
            .iter()
            .partition(|item| matches!(item.content, ItemContent::Call(_)));
        self.write_guarded(&others, form, &mut text);
        if !calls.is_empty() {
            let name = function_name(&self.type_name, function_number);
            let _ = write!(text, "static void __init __used {name}(void)\n{{\n");
            self.write_guarded(&calls, form, &mut text);
            text.push_str("}\n");
        }
        if !guard.is_empty() {
            let _ = writeln!(text, "#endif /* {guard} */");
        }
        text
    }

    /// Writes the items. Consecutive items with the same guard share one `#if`. Notes need no
    /// guard.
    fn write_guarded(&self, items: &[&EmittedItem], form: EmitForm, text: &mut String) {
        let mut open: Vec<String> = Vec::new();
        for item in items {
            let wanted: Vec<String> = match item.content {
                ItemContent::Note(_) => Vec::new(),
                _ => (item.guard_expressions(form).into_iter())
                    .filter(|expression| !self.guard.contains(expression))
                    .collect(),
            };
            if wanted != open {
                close_guard(&open, text);
                if !wanted.is_empty() {
                    let _ = writeln!(text, "#if {}", wanted.join(" && "));
                }
                open = wanted;
            }
            match &item.content {
                ItemContent::Claim(claim) => text.push_str(&assertion_text(&self.type_name, claim)),
                ItemContent::Call(call) => {
                    let _ = writeln!(text, "\t{call};");
                }
                ItemContent::Note(note) => text.push_str(&comment_text(std::slice::from_ref(note))),
            }
        }
        close_guard(&open, text);
    }
}

fn close_guard(open: &[String], text: &mut String) {
    if !open.is_empty() {
        text.push_str("#endif\n");
    }
}

/// Renders `static_assert(CONDITION,\n\t      "MESSAGE");`.
fn assertion_text(type_name: &str, claim: &LayoutClaim) -> String {
    let indent = "\n\t      ";
    let whole = claim.condition.join(" ");
    let opening = "static_assert(";
    let condition = if opening.len() + whole.len() < COLUMNS {
        whole
    } else {
        claim.condition.join(indent)
    };
    let message = format!("{type_name}: {}", claim.says);
    format!(
        "{opening}{condition},{indent}\"{}\");\n",
        string_literal(&message)
    )
}

fn string_literal(text: &str) -> String {
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

/// Renders the paragraphs as a comment, wrapped to the line width.
pub fn comment_text(paragraphs: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    for paragraph in paragraphs {
        // Names and reasons come from the input and must not end the comment.
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

impl EmittedItem {
    /// Creates an item that is only a comment.
    pub fn note(text: String) -> Self {
        Self {
            content: ItemContent::Note(text),
            pointer_bytes: BTreeSet::new(),
            line_bytes: None,
            guard: Vec::new(),
        }
    }
}
