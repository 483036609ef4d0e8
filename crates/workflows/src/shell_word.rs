//! Words of commands as a shell takes them.

/// Returns a word that a shell takes as it is.
pub fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-+=./:,@%".contains(c);
    match text.chars().all(is_plain) && !text.is_empty() {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_for_a_shell() {
        for (text, expect) in [
            ("./server", "./server"),
            ("pcpu_chunk", "pcpu_chunk"),
            ("unsigned long[]", "'unsigned long[]'"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$(x)", "'$(x)'"),
        ] {
            assert_eq!(shell_word(text), expect);
        }
    }
}
