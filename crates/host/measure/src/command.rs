//! Commands as a user writes them in one argument.

use relayout_messages::ProblemReason;

use super::Error;

/// Words that only a shell understands.
const SHELL_WORDS: &[&str] = &[
    "|", "||", "&", "&&", ";", "<", ">", ">>", "2>", "2>&1", ">&2",
];

/// A command: its words, and variables to set for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramCommand {
    /// The command as the user wrote it, for messages.
    pub text: String,
    /// Program and arguments; never empty.
    pub words: Vec<String>,
    /// `NAME=value` words before the program.
    pub environment: Vec<(String, String)>,
}

impl ProgramCommand {
    /// Splits the text as a POSIX shell does: blanks separate, quotes and backslashes keep
    /// together. Nothing else that a shell does is done, so that no shell is measured.
    ///
    /// # Errors
    /// The text names no program, has an open quote, or is meant for a shell.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let invalid = |why: ProblemReason| Error::Words {
            text: text.to_owned(),
            why,
        };
        let written = split_words(text).ok_or_else(|| invalid("a quote does not close".into()))?;
        if let Some(word) = written.iter().find(|word| word.is_shell_syntax()) {
            let why = ProblemReason::new(format!("'{}' is for a shell", word.text));
            return Err(invalid(why.with_remedy("--shell runs commands by one")));
        }
        let mut words: Vec<String> = written.into_iter().map(|word| word.text).collect();
        let count = words.iter().take_while(|word| is_assignment(word)).count();
        let environment = words
            .drain(..count)
            .filter_map(|word| word.split_once('=').map(|(k, v)| (k.into(), v.into())))
            .collect();
        if words.first().is_none_or(String::is_empty) {
            return Err(invalid("it names no program".into()));
        }
        Ok(Self {
            text: text.to_owned(),
            words,
            environment,
        })
    }

    /// The text as a command for `sh -c`.
    pub fn for_shell(text: &str) -> Self {
        Self {
            text: text.to_owned(),
            words: ["sh", "-c", text].map(str::to_owned).to_vec(),
            environment: Vec::new(),
        }
    }
}

/// Word of a command, without its quotes.
#[derive(Debug, Default)]
struct WrittenWord {
    text: String,
    /// A part of it was quoted, which a shell takes as it is.
    is_quoted: bool,
    /// Its last character was.
    ends_quoted: bool,
}

impl WrittenWord {
    fn is_shell_syntax(&self) -> bool {
        let is_operator = !self.is_quoted && SHELL_WORDS.contains(&&*self.text);
        is_operator || !self.ends_quoted && self.text.len() > 1 && self.text.ends_with(';')
    }

    fn push(&mut self, letter: char, is_quoted: bool) {
        self.text.push(letter);
        self.is_quoted |= is_quoted;
        self.ends_quoted = is_quoted;
    }
}

/// Splits a text as `shlex::split` does, and keeps what was quoted. `None` if a quote does not
/// close, or nothing follows the last backslash.
fn split_words(text: &str) -> Option<Vec<WrittenWord>> {
    let is_blank = |letter: &char| matches!(letter, ' ' | '\t' | '\n');
    let mut letters = text.chars().peekable();
    let mut words = Vec::new();
    loop {
        while letters.next_if(is_blank).is_some() {}
        match letters.peek() {
            None => return Some(words),
            // A comment, up to the end of the line.
            Some('#') => while letters.next_if(|letter| *letter != '\n').is_some() {},
            Some(_) => {
                let mut word = WrittenWord::default();
                while let Some(letter) = letters.next_if(|letter| !is_blank(letter)) {
                    push_letters(&mut word, letter, &mut letters)?;
                }
                words.push(word);
            }
        }
    }
}

/// Adds a letter to a word, or all that a quote or backslash begins.
fn push_letters(
    word: &mut WrittenWord,
    letter: char,
    rest: &mut impl Iterator<Item = char>,
) -> Option<()> {
    match letter {
        '\\' => match rest.next()? {
            '\n' => {}
            escaped => word.push(escaped, true),
        },
        '\'' => {
            word.is_quoted = true;
            loop {
                match rest.next()? {
                    '\'' => break,
                    quoted => word.push(quoted, true),
                }
            }
        }
        '"' => {
            word.is_quoted = true;
            loop {
                match rest.next()? {
                    '"' => break,
                    '\\' => match rest.next()? {
                        '\n' => {}
                        escaped @ ('$' | '`' | '"' | '\\') => word.push(escaped, true),
                        other => {
                            word.push('\\', true);
                            word.push(other, true);
                        }
                    },
                    quoted => word.push(quoted, true),
                }
            }
        }
        plain => word.push(plain, false),
    }
    Some(())
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, words: &[&str], environment: &[(&str, &str)]) {
        let found = ProgramCommand::parse(text).unwrap();
        assert_eq!(found.words, words);
        let owned = environment
            .iter()
            .map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!(found.environment, owned.collect::<Vec<_>>());
    }

    #[test]
    fn words() {
        check("./a b", &["./a", "b"], &[]);
        check("a 'b c' d\\ e \"\"", &["a", "b c", "d e", ""], &[]);
        check(
            "N=4 EMPTY= ./a N=5",
            &["./a", "N=5"],
            &[("N", "4"), ("EMPTY", "")],
        );
        check("a '|x'", &["a", "|x"], &[]);
        check("4=x", &["4=x"], &[]);
        // What is quoted is no operator of a shell.
        check("sh -c 'a; b;'", &["sh", "-c", "a; b;"], &[]);
        check(
            "find . -exec ls {} \\;",
            &["find", ".", "-exec", "ls", "{}", ";"],
            &[],
        );
        check(
            "sql \"select 1;\" ';' '|' \\&",
            &["sql", "select 1;", ";", "|", "&"],
            &[],
        );
    }

    /// The words are those of the library, of any text.
    #[test]
    fn words_are_as_those_of_a_shell() {
        let parts = ["a", " ", "'", "\"", "\\", "\n", ";", "#", "$", "\t", "é"];
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let digits = (0..10).map(|digit| (state >> (6 * digit)) as usize % parts.len());
            let text: String = digits.map(|part| parts[part]).collect();
            let found = split_words(&text);
            let found = found.map(|words| words.into_iter().map(|word| word.text).collect());
            assert_eq!(found, shlex::split(&text), "{text:?}");
        }
    }

    #[track_caller]
    fn check_refused(text: &str, why: &str) {
        let error = ProgramCommand::parse(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }

    #[test]
    fn refused() {
        check_refused("", "names no program");
        check_refused("N=4", "names no program");
        check_refused("''", "names no program");
        check_refused("a 'b", "quote");
        check_refused("a | b", "--shell");
        check_refused("a; b", "--shell");
        check_refused("a 'b c'; d", "--shell");
        check_refused("a 'b' ; d", "--shell");
    }
}
