//! Values as the text of a cell.

use serde_json::Value;

use crate::words::escape::{escape_text, json_text};

/// Beginnings of what spreadsheets compute, with the wide forms that some of them accept.
const FORMULA_STARTS: [char; 9] = ['=', '+', '-', '@', '\t', '＝', '＋', '－', '＠'];

/// Returns the value below `value` at a path of keys; `None` where a key is missing.
pub(super) fn value_at<'v>(value: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(value, |value, key| value.get(key))
}

/// Returns the text of a cell: nothing for null and for missing values, JSON for lists and objects.
pub(super) fn cell_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => harmless_text(text),
        Some(single @ (Value::Bool(_) | Value::Number(_))) => single.to_string(),
        Some(nested) => json_text(nested, false).unwrap_or_default(),
    }
}

/// Returns a text that neither a terminal nor a spreadsheet obeys.
fn harmless_text(text: &str) -> String {
    let escaped = escape_text(text);
    // Spreadsheets skip spaces and line feeds in front.
    match escaped
        .trim_start_matches([' ', '\n'])
        .starts_with(FORMULA_STARTS)
    {
        true => format!("'{escaped}"),
        false => escaped.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_cell(value: Value, expect: &str) {
        assert_eq!(cell_text(Some(&value)), expect);
    }

    #[test]
    fn numbers_stay_and_formulas_get_an_apostrophe() {
        check_cell(json!(-64), "-64");
        check_cell(json!(0.25), "0.25");
        check_cell(json!(true), "true");
        check_cell(json!(null), "");
        check_cell(json!("lock"), "lock");
        check_cell(json!("-64"), "'-64");
        check_cell(json!("=SUM(A1)"), "'=SUM(A1)");
        check_cell(json!(" \n@x"), "' \n@x");
        check_cell(json!("＝1"), "'＝1");
        check_cell(json!("\r=1"), r"\u{d}=1");
        check_cell(json!([1, "a"]), r#"[1,"a"]"#);
    }
}
