//! Characters that do more than appear: terminals obey some, and others reorder or hide text.
//!
//! Names of types, members and files come from files that anybody may have made. A terminal would
//! obey an escape sequence in a member's name, and a bidirectional override would let a reviewer
//! read another name than the compiler. Texts are escaped once, where the command prints them, and
//! JSON where it is made.

use std::borrow::Cow;

use serde::Serialize;

/// Replaces characters that are not shown as they are by `\u{1b}`, in a text for people. Line feeds
/// and tabs stay.
///
/// ```
/// use relayout_report::escape_text;
///
/// assert_eq!(escape_text("int flags;\n"), "int flags;\n");
/// assert_eq!(escape_text("\x1b[31mred\u{202e}"), r"\u{1b}[31mred\u{202e}");
/// ```
pub fn escape_text(text: &str) -> Cow<'_, str> {
    escape_with(text, |escaped, c| escaped.extend(c.escape_unicode()))
}

/// Renders a value as JSON whose strings have no such characters, but escapes such as `\u001b`: the
/// value of the document is the same.
pub(crate) fn json_text<T: Serialize + ?Sized>(
    value: &T,
    is_pretty: bool,
) -> Result<String, serde_json::Error> {
    let json = match is_pretty {
        true => serde_json::to_string_pretty(value)?,
        false => serde_json::to_string(value)?,
    };
    // Outside of strings, JSON has none of these characters.
    let escaped = escape_with(&json, |escaped, c| {
        for unit in c.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    });
    Ok(match escaped {
        Cow::Borrowed(_) => json,
        Cow::Owned(escaped) => escaped,
    })
}

fn escape_with(text: &str, escape: impl Fn(&mut String, char)) -> Cow<'_, str> {
    // Nearly all texts are plain ASCII. This scan of theirs takes no time.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\t');
    if text.bytes().all(is_plain) || !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_active(c) {
            true => escape(&mut escaped, c),
            false => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Returns true for control characters except for line feed and tab, for those that set the
/// direction of writing, for separators of lines, and for invisible ones (Unicode's category Cf).
fn is_active(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}'
        | '\u{61c}'
        | '\u{180e}'
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Any text, with more of the characters that matter than chance would bring.
    fn texts() -> impl Strategy<Value = String> {
        let active = prop::sample::select(vec![
            '\0',
            '\x07',
            '\x08',
            '\n',
            '\t',
            '\r',
            '\x1b',
            '\x7f',
            '\u{85}',
            '\u{9b}',
            '\u{200d}',
            '\u{200e}',
            '\u{2028}',
            '\u{202e}',
            '\u{2066}',
            '\u{feff}',
            '\u{e0041}',
            '\\',
            '"',
            'é',
            '→',
        ]);
        let c = prop_oneof![active, any::<char>(), prop::char::range(' ', '~')];
        prop::collection::vec(c, 0..40).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        #[test]
        fn nothing_active_is_left_and_nothing_else_changes(text in texts()) {
            let escaped = escape_text(&text);
            prop_assert!(!escaped.contains(is_active));
            prop_assert!(escaped.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
            prop_assert_eq!(&escape_text(&escaped), &escaped);
            let expect: String = text
                .chars()
                .map(|c| if is_active(c) { c.escape_unicode().to_string() } else { c.to_string() })
                .collect();
            prop_assert_eq!(escaped, expect);
        }

        #[test]
        fn plain_text_is_not_copied(text in "[ -~\\n\\t]{0,60}") {
            prop_assert!(matches!(escape_text(&text), Cow::Borrowed(_)));
        }

        #[test]
        fn json_keeps_its_value(text in texts(), is_pretty in any::<bool>()) {
            let value = serde_json::json!({ text.clone(): [text] });
            let json = json_text(&value, is_pretty).expect("JSON");
            prop_assert!(!json.contains(is_active));
            prop_assert_eq!(serde_json::from_str::<serde_json::Value>(&json).expect("JSON"), value);
        }
    }

    #[test]
    fn an_escape_beyond_16_bits_is_a_surrogate_pair() {
        let json = json_text("\u{e0041}\x1b", false).expect("JSON");
        assert_eq!(json, r#""\udb40\udc41\u001b""#);
    }
}
