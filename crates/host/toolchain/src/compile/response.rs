//! `@file` arguments: more arguments, in a file.

use std::path::Path;

use super::Error;

/// Depth to which response files may include each other.
const DEPTH_MAX: u32 = 8;
/// Bytes of all response files of a command together.
const BYTES_MAX: usize = 16 << 20;

/// The arguments with every `@file` replaced by what `read` gives for it. As in compilers, an
/// argument that names no file stays as it is; relative names start in `directory`.
///
/// # Errors
/// Files that include themselves, or too much.
pub fn expand_response_files(
    arguments: &[String],
    directory: &Path,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Result<Vec<String>, Error> {
    let mut expanded = Vec::new();
    let mut bytes_left = BYTES_MAX;
    let mut expansion = ResponseExpansion {
        directory,
        read,
        bytes_left: &mut bytes_left,
    };
    expansion.expand_into(arguments, 0, &mut expanded)?;
    Ok(expanded)
}

struct ResponseExpansion<'e> {
    directory: &'e Path,
    read: &'e dyn Fn(&Path) -> Option<String>,
    bytes_left: &'e mut usize,
}

impl ResponseExpansion<'_> {
    fn expand_into(
        &mut self,
        arguments: &[String],
        depth: u32,
        expanded: &mut Vec<String>,
    ) -> Result<(), Error> {
        for argument in arguments {
            let path = argument.strip_prefix('@').map(|n| self.directory.join(n));
            let Some((path, text)) = path.and_then(|p| (self.read)(&p).map(|text| (p, text)))
            else {
                expanded.push(argument.clone());
                continue;
            };
            let refuse = |why| {
                Err(Error::Response {
                    path: path.clone(),
                    why,
                })
            };
            if depth == DEPTH_MAX {
                return refuse("response files include each other too deeply");
            }
            match self.bytes_left.checked_sub(text.len()) {
                Some(left) => *self.bytes_left = left,
                None => return refuse("more arguments than any command has"),
            }
            self.expand_into(&split_words(&text), depth + 1, expanded)?;
        }
        Ok(())
    }
}

/// GCC's rule, which is not the shell's: a backslash takes the next character as it is, within
/// quotes too, and there are no comments.
fn split_words(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut characters = text.chars();
    while let Some(c) = characters.next() {
        match (c, quote) {
            ('\\', _) => word.get_or_insert_default().extend(characters.next()),
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (c, None) if c.is_ascii_whitespace() => words.extend(word.take()),
            (c, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_split(text: &str, expect: &[&str]) {
        assert_eq!(split_words(text), expect, "{text}");
    }

    #[test]
    fn splits_as_gcc_does() {
        check_split("-DA -DB\n-DC\t-DD", &["-DA", "-DB", "-DC", "-DD"]);
        check_split("'-DA=b c' \"-DD=e f\"", &["-DA=b c", "-DD=e f"]);
        check_split("-DA=\\\"b\\\" '-DC=\\'d'", &["-DA=\"b\"", "-DC='d"]);
        check_split("-DA='' '' # -DB", &["-DA=", "", "#", "-DB"]);
        check_split("  ", &[]);
        check_split("'-DA", &["-DA"]);
        check_split("-DA\\", &["-DA"]);
    }

    #[test]
    fn expands_within_limits() {
        let read = |path: &Path| match path.to_str()? {
            "/d/one" => Some("-DA @two".to_owned()),
            "/d/two" => Some("-DB".to_owned()),
            "/d/loop" => Some("@loop".to_owned()),
            _ => None,
        };
        let expand =
            |argument: &str| expand_response_files(&[argument.to_owned()], Path::new("/d"), &read);
        assert_eq!(expand("@one").unwrap(), ["-DA", "-DB"]);
        assert_eq!(expand("@none").unwrap(), ["@none"]);
        assert!(matches!(expand("@loop"), Err(Error::Response { .. })));
    }
}
