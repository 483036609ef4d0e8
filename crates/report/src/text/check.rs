//! Text of an outcome.

use std::fmt::{self, Write};

use crate::documents::check::{
    CheckDocument, PushingChangeDocument, ViolationDocument, WarningDocument,
};
use crate::words::counted;
use crate::words::layout_changes::shape_pair::size_text;

/// Renders each violation with its cause, then a sentence on all assertions.
pub fn check_text(document: &CheckDocument) -> String {
    let mut out = String::new();
    write_all(&mut out, document).expect("writing to a string does not fail");
    out
}

fn write_all(out: &mut String, document: &CheckDocument) -> fmt::Result {
    for violation in &document.violations {
        write_violation_lines(out, violation, &document.config)?;
        writeln!(out)?;
    }
    for waived in &document.waived {
        write_waived(out, waived, &document.config)?;
    }
    writeln!(out, "{}", summary_text(document))
}

fn write_violation_lines(
    out: &mut String,
    violation: &ViolationDocument,
    config: &str,
) -> fmt::Result {
    let place = match &violation.declared {
        Some(declared) => format!("{}:{}", declared.file, declared.line),
        None => violation.file.clone(),
    };
    writeln!(out, "{place}: {}", subject_text(violation))?;
    let mut line = |name: &str, text: &str| writeln!(out, "  {name:<10} {text}");
    line("expected", &violation.expected)?;
    line("found", &violation.found)?;
    for push in &violation.pushes {
        line("pushed by", &push_text(push))?;
    }
    if violation.pushes.is_empty() && !violation.between.is_empty() {
        line("between", &violation.between.join(", "))?;
    }
    if let Some(reason) = &violation.reason {
        line("because", reason)?;
    }
    if let Some(expired) = &violation.waiver_expired {
        line(
            "waived",
            &format!(
                "until {}, which is past: {} ({config}:{})",
                expired.expires, expired.reason, expired.config_line
            ),
        )?;
    }
    line("rule", &rule_text(violation, config))
}

/// `mm_struct.mmap_lock.owner violates same_line`
fn subject_text(violation: &ViolationDocument) -> String {
    format!("{} violates {}", violation.subject(), violation.rule)
}

/// `write_protect_seq, which is new (4 bytes): +8 bytes`
fn push_text(push: &PushingChangeDocument) -> String {
    let sign = match push.pushed_bits {
        0 => return push.words.clone(),
        ..0 => '-',
        _ => '+',
    };
    let distance = size_text(push.pushed_bits.unsigned_abs());
    format!("{}: {sign}{distance}", push.words)
}

/// `relayout.toml:12, in vmlinux, configuration rt`
fn rule_text(violation: &ViolationDocument, config: &str) -> String {
    let mut text = format!("{config}:{}, in {}", violation.config_line, violation.file);
    let names = &violation.configurations;
    if !names.is_empty() {
        let plural = if names.len() == 1 { "" } else { "s" };
        text.push_str(&format!(", configuration{plural} {}", names.join(", ")));
    }
    text
}

fn write_waived(out: &mut String, waived: &ViolationDocument, config: &str) -> fmt::Result {
    let Some(waiver) = &waived.waiver else {
        return Ok(());
    };
    writeln!(
        out,
        "waived until {}: {}: expected {}, found {}\n  {:<10} {} ({config}:{})\n",
        waiver.expires,
        subject_text(waived),
        waived.expected,
        waived.found,
        "because",
        waiver.reason,
        waiver.config_line
    )
}

fn summary_text(document: &CheckDocument) -> String {
    let checked = counted(document.checked, "assertion");
    let waived = match document.waived.len() {
        0 => String::new(),
        count => format!("; {count} waived"),
    };
    let violated = match document.violations.len() {
        0 => "none".to_owned(),
        count => count.to_string(),
    };
    format!("{checked} checked, {violated} violated{waived}")
}

/// Renders each warning with its place in the file of the rules.
pub fn warning_texts(document: &CheckDocument) -> impl Iterator<Item = String> {
    { document.warnings.iter() }.map(|warning| warning_text(warning, &document.config))
}

fn warning_text(warning: &WarningDocument, config: &str) -> String {
    match (warning.config_line, warning.config_column) {
        (Some(line), Some(column)) => format!("{config}:{line}:{column}: {}", warning.message),
        (Some(line), None) => format!("{config}:{line}: {}", warning.message),
        _ => warning.message.clone(),
    }
}
