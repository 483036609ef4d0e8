//! Sorting of a compiler's arguments: some change types, others name inputs and outputs or ask for
//! more than code.

/// Handling of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlagHandling {
    /// Stays.
    Keep,
    /// Stays, with the argument after it.
    KeepPair,
    /// Goes.
    Drop,
    /// Goes, with the argument after it.
    DropPair,
    /// Names the language: in this argument, or in the next.
    Language,
    /// Names a file to compile, or to link.
    Input,
    /// Everything after it names files.
    EndOfOptions,
}

/// Options that stay, whose value may be the next argument.
const WITH_VALUE: &[&str] = &[
    "-A",
    "-B",
    "-D",
    "-F",
    "-I",
    "-L",
    "-T",
    "-U",
    "-V",
    "-Xassembler",
    "-Xclang",
    "-Xlinker",
    "-Xpreprocessor",
    "-arch",
    "-b",
    "-framework",
    "-gcc-toolchain",
    "-idirafter",
    "-iframework",
    "-imacros",
    "-imultilib",
    "-include",
    "-include-pch",
    "-iprefix",
    "-iquote",
    "-isysroot",
    "-isystem",
    "-ivfsoverlay",
    "-iwithprefix",
    "-iwithprefixbefore",
    "-l",
    "-mllvm",
    "-resource-dir",
    "-specs",
    "-target",
    "-u",
    "-wrapper",
    "-z",
    "--config",
    "--include",
    "--param",
    "--sysroot",
    "--target",
];

/// Options that go, whose value is the next argument.
const DROP_WITH_VALUE: &[&str] = &[
    "-MF",
    "-MJ",
    "-MQ",
    "-MT",
    "-aux-info",
    "-dumpbase",
    "-dumpbase-ext",
    "-dumpdir",
    "-index-store-path",
    "-index-unit-output-path",
    "-o",
    "--output",
    "-serialize-diagnostics",
    "--serialize-diagnostics",
];

/// Options that are dropped: kinds of output, dependency files, reports, measurement and
/// instrumentation.
const DROP: &[&str] = &[
    "-###",
    "-C",
    "-CC",
    "-E",
    "-M",
    "-MD",
    "-MG",
    "-MM",
    "-MMD",
    "-MP",
    "-MV",
    "-P",
    "-Q",
    "-S",
    "-c",
    "-coverage",
    "--coverage",
    "-emit-ast",
    "-emit-llvm",
    "-fanalyzer",
    "-fbranch-probabilities",
    "-fsyntax-only",
    "-ftest-coverage",
    "-pass-exit-codes",
    "-pedantic",
    "-pedantic-errors",
    "-s",
    "-v",
    "-w",
    "--verbose",
];

/// Options that go, by how they begin. `-flto` leaves debug information in no form to read.
const DROP_PREFIX: &[&str] = &[
    "-W",
    "-Wa,-a",
    "-fauto-profile",
    "-fcallgraph-info",
    "-fcrash-diagnostics",
    "-fcs-profile",
    "-fdebug-compilation-dir",
    "-fdebug-prefix-map",
    "-fdebug-types-section",
    "-fdiagnostics-",
    "-fdump-",
    "-feliminate-",
    "-fembed-bitcode",
    "-femit-struct-debug",
    "-ffile-prefix-map",
    "-flimit-debug-info",
    "-flto",
    "-fmax-errors",
    "-fno-debug-types-section",
    "-fno-eliminate-",
    "-fno-standalone-debug",
    "-fopt-info",
    "-fprofile",
    "-frecord-",
    "-fsave-optimization-record",
    "-fstack-usage",
    "-fthin-link",
    "-ftime-",
    "-g",
    "-o",
    "-save-temps",
    "--save-temps",
    "-time",
];

/// Begins like something that goes, but stays: preprocessor, assembler and linker are reached by
/// it.
const KEEP_PREFIX: &[&str] = &["-Wp,", "-Wa,", "-Wl,", "-gcc-toolchain"];

/// Returns the handling of one argument.
pub fn flag_handling(argument: &str) -> FlagHandling {
    let begins_with_any = |prefixes: &[&str]| prefixes.iter().any(|p| argument.starts_with(p));
    if argument == "--" {
        FlagHandling::EndOfOptions
    } else if argument == "-" || !argument.starts_with('-') {
        FlagHandling::Input
    } else if argument == "-x" || argument.starts_with("-x") || argument == "--language" {
        FlagHandling::Language
    } else if WITH_VALUE.contains(&argument) {
        FlagHandling::KeepPair
    } else if DROP_WITH_VALUE.contains(&argument) {
        FlagHandling::DropPair
    } else if argument.starts_with("-Wa,-a") {
        FlagHandling::Drop
    } else if begins_with_any(KEEP_PREFIX) {
        FlagHandling::Keep
    } else if DROP.contains(&argument) || begins_with_any(DROP_PREFIX) || is_dependency(argument) {
        FlagHandling::Drop
    } else {
        FlagHandling::Keep
    }
}

/// `-MFfile`, `-MTtarget`, `-MQtarget`: with the value in the argument itself.
fn is_dependency(argument: &str) -> bool {
    ["-MF", "-MJ", "-MQ", "-MT"]
        .iter()
        .any(|o| argument.starts_with(o))
}

/// Returns `-Wp,-MMD,out.d,-DX` without the options that write dependencies; `None` if nothing is
/// left. Here, unlike in the driver's own options, `-MD` and `-MMD` have a value.
pub fn without_dependencies(preprocessor: &str) -> Option<String> {
    let mut kept = String::from("-Wp");
    let mut parts = preprocessor.strip_prefix("-Wp,")?.split(',');
    while let Some(part) = parts.next() {
        match part {
            "-MD" | "-MMD" | "-MF" | "-MT" | "-MQ" => {
                parts.next();
            }
            _ if part.starts_with("-M") => {}
            _ => {
                kept.push(',');
                kept.push_str(part);
            }
        }
    }
    (kept != "-Wp").then_some(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(words: &str, expect: FlagHandling) {
        for word in words.split(' ') {
            assert_eq!(flag_handling(word), expect, "{word}");
        }
    }

    #[test]
    fn keeps_what_can_change_a_layout() {
        check(
            "-m32 -mabi=ilp32 -fpack-struct -fshort-enums -std=gnu11 -O2 -nostdinc",
            FlagHandling::Keep,
        );
        check(
            "-DX=1 -Iinclude -UX -I/a -fplugin=./randomize_layout_plugin.so",
            FlagHandling::Keep,
        );
        check(
            "-Wp,-DX -Wa,-mbig-obj --target=arm-linux -gcc-toolchain=/x -mno-ms-bitfields",
            FlagHandling::Keep,
        );
        check(
            "-D -I -include -imacros -isystem --param -target -Xclang",
            FlagHandling::KeepPair,
        );
    }

    #[test]
    fn drops_outputs_and_warnings() {
        check(
            "-c -S -E -M -MMD -MD -MP -MFx.d -MTx.o -ox.o -Werror -Wall -Werror=vla -w",
            FlagHandling::Drop,
        );
        check(
            "-g -g0 -ggdb3 -gsplit-dwarf -gz -flto=auto -save-temps=obj -fstack-usage",
            FlagHandling::Drop,
        );
        check(
            "-fprofile-arcs -ftest-coverage --coverage -fdump-tree-all -Wa,-ahls=x.s",
            FlagHandling::Drop,
        );
        check(
            "-o -MF -MT -MQ -MJ -aux-info -serialize-diagnostics",
            FlagHandling::DropPair,
        );
    }

    #[test]
    fn tells_inputs_and_languages() {
        check("mm/mmap.c ../x.cc - obj.o", FlagHandling::Input);
        check("-x -xc++ --language", FlagHandling::Language);
        check("--", FlagHandling::EndOfOptions);
    }

    #[test]
    fn dependency_files_of_the_preprocessor_go() {
        let check = |preprocessor: &str, expect: Option<&str>| {
            assert_eq!(
                without_dependencies(preprocessor).as_deref(),
                expect,
                "{preprocessor}"
            );
        };
        check("-Wp,-MMD,mm/.mmap.o.d", None);
        check("-Wp,-MD,x.d,-DA,-MP", Some("-Wp,-DA"));
        check("-Wp,-DA", Some("-Wp,-DA"));
        check("-Wp,-MD", None);
    }
}
