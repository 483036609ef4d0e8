//! Commands as a user writes them in one argument.

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
        let invalid = |why: &str| Error::Words {
            text: text.to_owned(),
            why: why.to_owned(),
        };
        let mut words = shlex::split(text).ok_or_else(|| invalid("a quote does not close"))?;
        let is_shell_syntax = |word: &&String| {
            SHELL_WORDS.contains(&word.as_str()) || word.len() > 1 && word.ends_with(';')
        };
        if let Some(word) = words.iter().find(is_shell_syntax) {
            let why = format!("'{word}' is for a shell; --shell runs commands by one");
            return Err(invalid(&why));
        }
        let count = words.iter().take_while(|word| is_assignment(word)).count();
        let environment = words
            .drain(..count)
            .filter_map(|word| word.split_once('=').map(|(k, v)| (k.into(), v.into())))
            .collect();
        if words.first().is_none_or(String::is_empty) {
            return Err(invalid("it names no program"));
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
    }
}
