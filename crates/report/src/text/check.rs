//! Text of an outcome.

use std::fmt::{self, Write};
use std::path::Path;

use relayout_check::{CheckOutcome, CheckWarning, PushingChange, Violation, WaivedViolation};

use crate::words::counted;

/// Renders each violation with its cause, then a sentence on all assertions. `config` is the file
/// of the rules.
pub fn render_text(outcome: &CheckOutcome, config: &Path) -> String {
    let mut out = String::new();
    write_all(&mut out, outcome, config).expect("writing to a string does not fail");
    out
}

fn write_all(out: &mut String, outcome: &CheckOutcome, config: &Path) -> fmt::Result {
    for violation in &outcome.violations {
        write_violation_lines(out, violation, config)?;
        writeln!(out)?;
    }
    for waived in &outcome.waived {
        write_waived(out, waived, config)?;
    }
    writeln!(out, "{}", summary_text(outcome))
}

fn write_violation_lines(out: &mut String, violation: &Violation, config: &Path) -> fmt::Result {
    let place = match &violation.decl {
        Some(decl) => format!("{}:{}", decl.file, decl.line),
        None => violation.file.clone(),
    };
    writeln!(out, "{place}: {}", subject_text(violation))?;
    let mut line = |name: &str, text: &str| writeln!(out, "  {name:<10} {text}");
    line("expected", &violation.expected)?;
    line("found", &violation.found)?;
    for push in &violation.pushed_by {
        line("pushed by", &push_text(push))?;
    }
    if violation.pushed_by.is_empty() && !violation.between.is_empty() {
        line("between", &violation.between.join(", "))?;
    }
    if let Some(reason) = &violation.reason {
        line("because", reason)?;
    }
    if let Some(expired) = &violation.expired {
        line(
            "waived",
            &format!(
                "until {}, which is past: {} ({}:{})",
                expired.expires,
                expired.reason,
                config.display(),
                expired.at.line
            ),
        )?;
    }
    line("rule", &rule_text(violation, config))
}

/// `mm_struct.mmap_lock.owner violates same_line`
fn subject_text(violation: &Violation) -> String {
    let Violation {
        type_name,
        member,
        rule,
        ..
    } = violation;
    match member.as_str() {
        "" => format!("{type_name} violates {rule}"),
        member => format!("{type_name}.{member} violates {rule}"),
    }
}

/// `write_protect_seq, which is new (4 bytes): +8 bytes`
fn push_text(push: &PushingChange) -> String {
    if push.bits == 0 {
        return push.to_string();
    }
    let (number, unit) = match push.bits % 8 {
        0 => (push.bits / 8, "byte"),
        _ => (push.bits, "bit"),
    };
    let sign = if number < 0 { '-' } else { '+' };
    format!("{push}: {sign}{}", counted(number.unsigned_abs(), unit))
}

/// `relayout.toml:12, in vmlinux, configuration rt`
fn rule_text(violation: &Violation, config: &Path) -> String {
    let mut text = format!(
        "{}:{}, in {}",
        config.display(),
        violation.at.line,
        violation.file
    );
    let names = &violation.configurations;
    if !names.is_empty() {
        let plural = if names.len() == 1 { "" } else { "s" };
        text.push_str(&format!(", configuration{plural} {}", names.join(", ")));
    }
    text
}

fn write_waived(out: &mut String, waived: &WaivedViolation, config: &Path) -> fmt::Result {
    let WaivedViolation {
        violation,
        reason,
        expires,
        at,
    } = waived;
    writeln!(
        out,
        "waived until {expires}: {}: expected {}, found {}\n  {:<10} {reason} ({}:{})\n",
        subject_text(violation),
        violation.expected,
        violation.found,
        "because",
        config.display(),
        at.line
    )
}

fn summary_text(outcome: &CheckOutcome) -> String {
    let checked = counted(outcome.checked, "assertion");
    let waived = match outcome.waived.len() {
        0 => String::new(),
        count => format!("; {count} waived"),
    };
    let violated = match outcome.violations.len() {
        0 => "none".to_owned(),
        count => count.to_string(),
    };
    format!("{checked} checked, {violated} violated{waived}")
}

/// Renders a warning with its place in the file of the rules, `config`.
pub fn warning_text(warning: &CheckWarning, config: &Path) -> String {
    match warning.at {
        Some(at) => format!("{}:{at}: {}", config.display(), warning.message),
        None => warning.message.clone(),
    }
}
