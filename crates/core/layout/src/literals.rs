//! Values among template arguments, which compilers spell in several ways.

use crate::canonical::IntegerWords;

/// Reads a value in front of `text`, which begins a template argument, as a number, `true`, `false`
/// or an address. Returns it with the rest of the text; `None` for a type, and for an enumerator.
pub(crate) fn read_value(text: &str) -> Option<(String, &str)> {
    let (value, rest) = read_nullptr(text)
        .or_else(|| read_address(text))
        .or_else(|| read_number(text))?;
    let ends = rest.trim_start().starts_with([',', '>']);
    ends.then_some((value, rest))
}

fn read_nullptr(text: &str) -> Option<(String, &str)> {
    Some(("0".to_owned(), text.strip_prefix("nullptr")?))
}

/// `(& counter)`, as gcc spells an address.
fn read_address(text: &str) -> Option<(String, &str)> {
    let (name, rest) = text.strip_prefix("(& ")?.split_once(')')?;
    let is_path = |c: char| c.is_alphanumeric() || "_$:".contains(c);
    let is_name = !name.is_empty() && name.chars().all(is_path);
    is_name.then(|| (format!("&{name}"), rest))
}

/// `4`, `-4L`, `'a'`, `(short)3`, `(signed char)'\xff'`.
fn read_number(text: &str) -> Option<(String, &str)> {
    let (cast, rest) = match text.strip_prefix('(') {
        Some(inner) => {
            let (words, rest) = inner.split_once(')')?;
            (Some(integer_type(words)?), rest)
        }
        None => (None, text),
    };
    let (value, rest) = read_digits(rest).or_else(|| read_character(rest))?;
    let text = match cast.as_deref() {
        Some("bool") => (value != 0).to_string(),
        Some("signed char") => (value as i8).to_string(),
        Some("unsigned char") => (value as u8).to_string(),
        _ => value.to_string(),
    };
    Some((text, rest))
}

/// Canonical name of the integer type that the words name.
fn integer_type(words: &str) -> Option<String> {
    if words == "bool" {
        return Some(words.to_owned());
    }
    let mut integer = IntegerWords::default();
    let is_integer = words
        .split_whitespace()
        .all(|word| integer.absorb_word(word));
    let mut name = String::new();
    integer.flush(&mut name);
    let is_character = ["wchar_t", "char8_t", "char16_t", "char32_t"].contains(&words);
    if is_character {
        return Some(words.to_owned());
    }
    (is_integer && !name.is_empty()).then_some(name)
}

/// Decimal number with a sign and a suffix as in `4UL`.
fn read_digits(text: &str) -> Option<(i128, &str)> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    let length = text.len() - unsigned.len() + digits;
    let value = text[..length].parse().ok()?;
    let rest = text[length..].trim_start_matches(['u', 'U', 'l', 'L']);
    Some((value, rest))
}

/// Character literal with its prefix.
fn read_character(text: &str) -> Option<(i128, &str)> {
    let wide = ["L", "u8", "u", "U"].iter().find_map(|prefix| {
        let rest = text.strip_prefix(prefix)?;
        rest.starts_with('\'').then_some(rest)
    });
    let inner = wide.unwrap_or(text).strip_prefix('\'')?;
    let (value, rest) = match inner.strip_prefix('\\') {
        Some(escape) => read_escape(escape)?,
        None => {
            let letter = inner.chars().next().filter(|letter| *letter != '\'')?;
            (i128::from(u32::from(letter)), &inner[letter.len_utf8()..])
        }
    };
    let rest = rest.strip_prefix('\'')?;
    // Plain `char` is signed where compilers escape its upper half; gcc widens it to 32 bits.
    let value = match value {
        0x80..=0xff if wide.is_none() => value - 0x100,
        0x8000_0000..=0xffff_ffff => value - 0x1_0000_0000,
        value => value,
    };
    Some((value, rest))
}

/// Number of an escape sequence behind its backslash.
fn read_escape(text: &str) -> Option<(i128, &str)> {
    let number = |text: &'_ str, radix, most: usize| {
        let digits = text
            .chars()
            .take_while(|c| c.is_digit(radix))
            .count()
            .min(most);
        i128::from_str_radix(&text[..digits], radix)
            .ok()
            .map(|value| (value, digits))
    };
    let first = text.chars().next()?;
    if first.is_digit(8) {
        let (value, length) = number(text, 8, 11)?;
        return Some((value, &text[length..]));
    }
    let rest = &text[first.len_utf8()..];
    let value = match first {
        'n' => 10,
        't' => 9,
        'r' => 13,
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'v' => 11,
        'e' => 27,
        '\\' | '\'' | '"' | '?' => u32::from(first),
        'x' | 'u' | 'U' => {
            let (value, length) = number(rest, 16, 8)?;
            return Some((value, &rest[length..]));
        }
        _ => return None,
    };
    Some((i128::from(value), rest))
}
