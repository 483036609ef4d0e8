//! The command line of a compiler, as far as recording needs to understand it.

use std::ffi::OsString;
use std::path::Path;

use relayout_messages::ProblemReason;

use super::CompilerError;
use crate::compile::flags::{FlagHandling, flag_handling};
use crate::compile::response;

/// Purpose of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CompilerRequest {
    /// Words about the compiler, or nothing to compile or link.
    Question,
    /// Output.
    Build(BuildRequest),
}

/// A command line that makes output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildRequest {
    /// The last step of the build.
    pub stage: BuildStage,
    /// True if link-time optimisation is requested.
    pub lto: bool,
    /// True if all sources may be C, C++ or assembly, as far as their names tell.
    pub is_c: bool,
    /// Notes for the user.
    pub notes: Vec<&'static str>,
}

/// The last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BuildStage {
    /// `-E`, `-M`.
    Preprocess,
    /// `-S`, `-c`.
    Compile,
    /// `-r`: objects into an object.
    Join,
    /// A program or a shared library.
    Link,
}

const LTO: &str = "link-time optimisation is left out (-fno-lto): it would inline what relayout names \
                   places by";
const STRIPPED: &str = "-s takes the debug information away, without which functions, types and \
                        members have no names in reports";

/// Answers about the compiler, not output.
const QUESTIONS: &[&str] = &[
    "--version",
    "--help",
    "--target-help",
    "-dumpversion",
    "-dumpfullversion",
    "-dumpmachine",
    "-dumpspecs",
];
const QUESTION_PREFIXES: &[&str] = &["-print-", "--print-", "--help="];

/// Options with a value in the next argument that go to the linker, besides those that
/// [`flag_handling`] knows.
const WITH_VALUE: &[&str] = &["-e", "--entry", "-rpath", "-G"];

/// Extensions of sources, and names for `-x`, of languages that have other options than C.
const OTHER_LANGUAGES: &[&str] = &[
    "f", "for", "ftn", "f77", "f90", "f95", "f03", "f08", "F", "FOR", "FTN", "F90", "F95", "F03",
    "F08", "adb", "ads", "ada", "d", "dd", "di", "go", "mod", "modula-2",
];

/// Sanitizers that want shadow memory, a heap or a runtime of their own.
const OTHER_SANITIZERS: &[&str] = &[
    "address",
    "kernel-address",
    "hwaddress",
    "memory",
    "leak",
    "dataflow",
];

/// Parses `arguments`. `read` gives the contents of response files.
///
/// # Errors
/// The arguments request something that cannot be recorded.
pub fn parse_request(
    arguments: &[OsString],
    read: &dyn Fn(&Path) -> Option<Vec<u8>>,
) -> Result<CompilerRequest, CompilerError> {
    let words: Vec<String> = arguments
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let text = |path: &Path| Some(String::from_utf8_lossy(&read(path)?).into_owned());
    // What cannot be expanded is the compiler's to refuse.
    let words = response::expand_response_files(&words, Path::new(""), &text).unwrap_or(words);
    if words.iter().any(|word| is_question(word)) || !has_input(&words) {
        return Ok(CompilerRequest::Question);
    }
    let stage = last_stage(&words);
    refuse_unrecordable(&words, stage)?;
    let lto = asks_for_lto(&words);
    let mut notes = Vec::new();
    if stage == BuildStage::Link {
        notes.extend(lto.then_some(LTO));
        notes.extend(find_word(&words, &["-s", "-Wl,-s", "-Wl,--strip-all"]).map(|_| STRIPPED));
    }
    Ok(CompilerRequest::Build(BuildRequest {
        stage,
        lto,
        is_c: !has_other_language(&words),
        notes,
    }))
}

fn is_question(word: &str) -> bool {
    QUESTIONS.contains(&word) || QUESTION_PREFIXES.iter().any(|p| word.starts_with(p))
}

fn find_word<'w>(words: &'w [String], wanted: &[&str]) -> Option<&'w String> {
    words.iter().find(|word| wanted.contains(&word.as_str()))
}

fn has_input(words: &[String]) -> bool {
    !input_words(words).is_empty()
}

/// Returns the words that name inputs: files, and libraries by `-l`.
fn input_words(words: &[String]) -> Vec<&str> {
    let mut inputs = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match flag_handling(word) {
            FlagHandling::Input => inputs.push(word.as_str()),
            FlagHandling::EndOfOptions => inputs.extend(words.by_ref().map(String::as_str)),
            FlagHandling::KeepPair if word == "-l" => {
                inputs.extend(words.next().map(String::as_str))
            }
            FlagHandling::KeepPair | FlagHandling::DropPair => drop(words.next()),
            FlagHandling::Language if word == "-x" || word == "--language" => drop(words.next()),
            _ if WITH_VALUE.contains(&word.as_str()) => drop(words.next()),
            _ if word.starts_with("-l") => inputs.push(word.as_str()),
            _ => {}
        }
    }
    inputs
}

fn has_other_language(words: &[String]) -> bool {
    let is_other = |name: &str| OTHER_LANGUAGES.contains(&name);
    let extension = |word: &str| Path::new(word).extension()?.to_str().map(str::to_owned);
    let mut inputs = input_words(words).into_iter();
    let named = inputs.any(|word| extension(word).is_some_and(|extension| is_other(&extension)));
    let by_option = { words.windows(2) }.any(|pair| pair[0] == "-x" && is_other(&pair[1]));
    named || by_option
}

fn last_stage(words: &[String]) -> BuildStage {
    const JOIN: &[&str] = &["-r", "-Wl,-r", "-Wl,-i", "-Wl,--relocatable"];
    if find_word(words, &["-E", "-M", "-MM", "-fsyntax-only", "--preprocess"]).is_some() {
        BuildStage::Preprocess
    } else if find_word(words, &["-c", "-S", "-emit-ast", "--compile", "--assemble"]).is_some() {
        BuildStage::Compile
    } else if find_word(words, JOIN).is_some() {
        BuildStage::Join
    } else {
        BuildStage::Link
    }
}

/// The last of `-flto` and `-fno-lto` holds.
fn asks_for_lto(words: &[String]) -> bool {
    words
        .iter()
        .rfind(|word| *word == "-flto" || word.starts_with("-flto=") || *word == "-fno-lto")
        .is_some_and(|word| word != "-fno-lto")
}

fn refuse_unrecordable(words: &[String], stage: BuildStage) -> Result<(), CompilerError> {
    let refused = |argument: &str, why: ProblemReason| {
        Err(CompilerError::RefusedArgument {
            argument: argument.to_owned(),
            why,
        })
    };
    if stage == BuildStage::Link {
        const STATIC: &[&str] = &["-static", "-static-pie", "--static", "-Wl,-static"];
        if let Some(word) = find_word(words, STATIC) {
            let why = ProblemReason::new("what watches a program is a shared library");
            return refused(word, why.with_remedy("link without it"));
        }
    }
    if let Some(word) = find_word(words, &["-m32", "-mx32", "-m16"]) {
        return refused(word, "only 64-bit x86 programs can be recorded".into());
    }
    match words.iter().find_map(|word| other_sanitizer(word)) {
        Some(word) => refused(
            word,
            ProblemReason::new("that sanitizer brings a runtime of its own")
                .with_remedy("build without it"),
        ),
        None => Ok(()),
    }
}

fn other_sanitizer(word: &str) -> Option<&str> {
    let list = word.strip_prefix("-fsanitize=")?;
    list.split(',')
        .any(|name| OTHER_SANITIZERS.contains(&name))
        .then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<OsString> {
        text.split_whitespace().map(OsString::from).collect()
    }

    fn read(path: &Path) -> Option<Vec<u8>> {
        match path.to_str()? {
            "objects" => Some(b"a.o b.o".to_vec()),
            "flags" => Some(b"-c -O2".to_vec()),
            _ => None,
        }
    }

    #[track_caller]
    fn check(text: &str, expect: Option<BuildStage>) {
        let found = match parse_request(&words(text), &read) {
            Ok(CompilerRequest::Build(work)) => Some(work.stage),
            Ok(CompilerRequest::Question) => None,
            Err(error) => panic!("{text}: {error}"),
        };
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn tells_how_far_it_goes() {
        check("-c a.c -o a.o", Some(BuildStage::Compile));
        check("-O2 -S -x c -", Some(BuildStage::Compile));
        check("-E - -dM", Some(BuildStage::Preprocess));
        check("-MM a.c", Some(BuildStage::Preprocess));
        check("-MD -MF a.d -c a.c", Some(BuildStage::Compile));
        check("a.c", Some(BuildStage::Link));
        check("-shared a.o -lm -o a.so", Some(BuildStage::Link));
        check("@objects -o a", Some(BuildStage::Link));
        check("@flags a.c", Some(BuildStage::Compile));
        check("-r a.o b.o -o c.o", Some(BuildStage::Join));
        check("-nostdlib -Wl,-r a.o -o c.o", Some(BuildStage::Join));
        check("-lfoo", Some(BuildStage::Link));
    }

    #[test]
    fn answers_are_the_compilers_own() {
        for text in [
            "",
            "--version",
            "-v",
            "-dumpmachine",
            "-print-search-dirs",
            "-print-prog-name=ld -c a.c",
            "--help=common",
            // No input: the words after these are values.
            "-o a",
            "-I dir -x c++",
            "-Xlinker foo",
            "@flags",
        ] {
            check(text, None);
        }
        check("-v a.c", Some(BuildStage::Link));
    }

    #[test]
    fn what_does_not_go_with_recording_is_refused() {
        let check = |text: &str, expect: &str| {
            let error = parse_request(&words(text), &read)
                .expect_err(text)
                .to_string();
            assert!(error.starts_with(expect), "{text}: {error}");
        };
        check("-static a.c", "-static does not");
        check("a.o -static-pie", "-static-pie does not");
        check("-m32 -c a.c", "-m32 does not");
        check(
            "-fsanitize=undefined,address -c a.c",
            "-fsanitize=undefined,address does not",
        );
        self::check("-static -c a.c", Some(BuildStage::Compile));
        self::check("-static-libgcc a.c", Some(BuildStage::Link));
        self::check("-fsanitize=undefined a.c", Some(BuildStage::Link));
    }

    #[test]
    fn languages_with_other_options_are_noticed() {
        let check = |text: &str, expect: bool| match parse_request(&words(text), &read) {
            Ok(CompilerRequest::Build(work)) => assert_eq!(work.is_c, expect, "{text}"),
            other => panic!("{text}: {other:?}"),
        };
        check("-c a.c", true);
        check("-c a.cc b.S c.m", true);
        check("a.o b.o -lm", true);
        check("-x c++ -c -", true);
        check("-c -o a.f a.c", true);
        check("-c a.f90", false);
        check("a.c b.F", false);
        check("-x f95 -c a.txt", false);
    }

    #[test]
    fn notes_are_made_once_per_program() {
        let check = |text: &str, lto: bool, notes: &[&str]| match parse_request(&words(text), &read)
        {
            Ok(CompilerRequest::Build(work)) => {
                assert_eq!((work.lto, &*work.notes), (lto, notes), "{text}")
            }
            other => panic!("{text}: {other:?}"),
        };
        check("-flto=auto -c a.c", true, &[]);
        check("-flto=auto a.o", true, &[LTO]);
        check("-flto -fno-lto a.o", false, &[]);
        check("-s a.o", false, &[STRIPPED]);
    }
}
