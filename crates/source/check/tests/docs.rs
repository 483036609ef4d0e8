//! Tests of the examples in docs/check.md.

use relayout_check::{CheckConfig, LayoutLock, RuleId};

const DOCS: &str = include_str!("../../../../docs/check.md");

/// Returns the TOML blocks with their line numbers.
fn blocks() -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut block: Option<(usize, String)> = None;
    for (index, line) in DOCS.lines().enumerate() {
        match (&mut block, line) {
            (None, "```toml") => block = Some((index + 2, String::new())),
            (Some(_), "```") => blocks.extend(block.take()),
            (Some((_, text)), line) => {
                text.push_str(line);
                text.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

#[test]
fn every_example_is_read() {
    let mut locks = 0;
    for (line, text) in blocks() {
        let wrong = if text.starts_with("version") {
            locks += 1;
            LayoutLock::parse(&text).err()
        } else {
            CheckConfig::parse(&text).err()
        };
        assert_eq!(wrong, None, "docs/check.md:{line}");
    }
    assert!(locks == 1 && blocks().len() >= 5);
}

#[test]
fn every_rule_is_described() {
    for id in RuleId::all() {
        let named = [format!("`{id} = "), format!("`{id}`")];
        assert!(named.iter().any(|name| DOCS.contains(name)), "{id}");
    }
}
