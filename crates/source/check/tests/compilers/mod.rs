//! Compilers and test headers.
#![allow(dead_code, reason = "each test file uses its part")]

use std::path::PathBuf;
use std::process::{Command, Output};

use relayout_check::emit::{AssertionEmitter, EmitForm};
use relayout_check::{CheckConfig, Date, FileFacts, LayoutLock};
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;

/// Name of the language C for the option `-x`.
pub const C: &str = "c";
/// Name of the language C++ for the option `-x`.
pub const CPP: &str = "c++";

/// Compiler with its flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub language: &'static str,
    pub program: &'static str,
    pub flags: &'static [&'static str],
    /// True for 32-bit pointers.
    pub is_narrow: bool,
}

/// Definitions from kernel headers that the emitted text uses.
const KERNEL: &str = "
#ifdef __x86_64__
#define CONFIG_X86_64 1
#endif
#define BITS_PER_LONG (__SIZEOF_LONG__ * 8)
#define SMP_CACHE_BYTES 64
#define __init
#define __used __attribute__((used))
#define offsetof(type, member) __builtin_offsetof(type, member)
#define sizeof_field(type, member) sizeof(((type *)0)->member)
#define offsetofend(type, member) (offsetof(type, member) + sizeof_field(type, member))
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define static_assert(condition, ...) _Static_assert(condition, ##__VA_ARGS__)
#define must(condition) _Static_assert(condition, #condition)
#define __cacheline_group_begin(group) unsigned char __cacheline_group_begin__##group[0]
#define __cacheline_group_end(group) unsigned char __cacheline_group_end__##group[0]
#define CACHELINE_ASSERT_GROUP_MEMBER(type, group, member) do { \\
	must(offsetof(type, member) >= offsetofend(type, __cacheline_group_begin__##group)); \\
	must(offsetofend(type, member) <= offsetof(type, __cacheline_group_end__##group)); \\
} while (0)
#define CACHELINE_ASSERT_GROUP_SIZE(type, group, size) \\
	must(offsetof(type, __cacheline_group_end__##group) - \\
	     offsetofend(type, __cacheline_group_begin__##group) <= (size))
";
const KERNEL_HEADERS: [&str; 5] = ["build_bug.h", "cache.h", "init.h", "math.h", "stddef.h"];

impl Target {
    /// Default compiler for 64 bits.
    pub fn wide(language: &'static str) -> Self {
        Self {
            language,
            program: if language == C { "gcc" } else { "g++" },
            flags: &[],
            is_narrow: false,
        }
    }

    /// Returns the compilers that work here, and prints the missing ones. A missing compiler fails
    /// the test if tests must not be skipped.
    pub fn all() -> Vec<Self> {
        let narrow = |language, program, flags| Self {
            language,
            program,
            flags,
            is_narrow: true,
        };
        let all = [
            Self::wide(C),
            Self::wide(CPP),
            Self {
                program: "clang",
                ..Self::wide(C)
            },
            narrow(C, "gcc", &["-m32"]),
            narrow(CPP, "g++", &["-m32"]),
            narrow(C, "arm-linux-gnueabihf-gcc", &[]),
        ];
        all.into_iter().filter(Self::is_there).collect()
    }

    fn is_there(&self) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("x");
        std::fs::write(&source, "#include <assert.h>\n#include <stddef.h>\n").unwrap();
        let mut command = Command::new(self.program);
        command
            .args(self.flags)
            .args(["-fsyntax-only", "-x", self.language])
            .arg(&source);
        let works = command.output().is_ok_and(|output| output.status.success());
        if !works {
            let demanded = std::env::var("CI").is_ok_and(|value| value == "true");
            let command_line = format!("{} {}", self.program, self.flags.join(" "));
            assert!(!demanded, "no {command_line}: run scripts/setup.sh --tests");
            eprintln!("PASSED OVER: no {command_line}");
        }
        works
    }
}

/// Folder with a header.
pub struct Project {
    dir: tempfile::TempDir,
    header: PathBuf,
}

impl Project {
    /// Creates a header with this text, and a file with the kernel's macros.
    pub fn new(header: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("types.h");
        let is_kernel = header.contains("__cacheline_group");
        let text = match is_kernel {
            true => format!("#include <linux/stddef.h>\n{header}"),
            false => header.to_owned(),
        };
        std::fs::write(&path, text).unwrap();
        let linux = dir.path().join("include/linux");
        std::fs::create_dir_all(&linux).unwrap();
        for name in KERNEL_HEADERS {
            std::fs::write(linux.join(name), "#pragma once\n#include \"kernel.h\"\n").unwrap();
        }
        let kernel = format!("#pragma once\n{}", KERNEL.replace("\\\\\n", "\\\n"));
        std::fs::write(linux.join("kernel.h"), kernel).unwrap();
        Self { dir, header: path }
    }

    /// Emits the assertions for the header, compiled for the target.
    pub fn emit(&self, target: &Target, config: &str, form: EmitForm) -> String {
        self.emit_for(std::slice::from_ref(target), config, form)
    }

    /// Emits the assertions for the header, compiled for each target.
    pub fn emit_for(&self, targets: &[Target], config: &str, form: EmitForm) -> String {
        self.emit_recorded(targets, config, None, form)
    }

    /// Emits the assertions with a lock file.
    pub fn emit_recorded(
        &self,
        targets: &[Target],
        config: &str,
        lock: Option<&LayoutLock>,
        form: EmitForm,
    ) -> String {
        let config = CheckConfig::parse(config).unwrap_or_else(|error| panic!("{error}"));
        let mut emitter =
            AssertionEmitter::new(&config, lock, form, Date::parse("2026-01-01").unwrap());
        for target in targets {
            let object = self.object(target);
            let store = SectionStore::default();
            let catalog = TypeCatalog::parse(&object, &store, DebugInfoFormat::Any).unwrap();
            let mut facts = FileFacts::from_headers("types.o", &object);
            facts.kernel_config = Some(relayout_check::KernelConfig::parse("CONFIG_BIG=y\n"));
            emitter
                .add_file(&facts, &[], &catalog, |_| true)
                .unwrap_or_else(|error| panic!("{error}"));
        }
        emitter.finish(&[]).text
    }

    /// Compiles the header to an object file.
    pub fn object(&self, target: &Target) -> Vec<u8> {
        let out = self.dir.path().join("types.o");
        let output = self.compile(
            target,
            "",
            &["-g", "-fno-eliminate-unused-debug-types", "-c", "-o"],
            &out,
        );
        assert!(output.status.success(), "{}", text(&output.stderr));
        std::fs::read(&out).unwrap()
    }

    #[track_caller]
    pub fn accepts(&self, target: &Target, emitted: &str) {
        let output = self.assert(target, emitted);
        assert!(
            output.status.success(),
            "{target:?}\n{}\n{emitted}",
            text(&output.stderr)
        );
    }

    #[track_caller]
    pub fn refuses(&self, target: &Target, emitted: &str) {
        let output = self.assert(target, emitted);
        let said = text(&output.stderr);
        assert!(!output.status.success(), "{target:?}\n{said}\n{emitted}");
        let others = said
            .lines()
            .filter(|line| line.contains("error: "))
            .find(|line| {
                !line.contains("static assertion failed") && !line.contains("static_assert failed")
            });
        assert_eq!(others, None, "{target:?}\n{said}\n{emitted}");
    }

    fn assert(&self, target: &Target, emitted: &str) -> Output {
        let flags = ["-Wall", "-Wextra", "-Werror", "-c", "-o"];
        self.compile(target, emitted, &flags, &self.dir.path().join("assert.o"))
    }

    fn compile(
        &self,
        target: &Target,
        emitted: &str,
        flags: &[&str],
        out: &std::path::Path,
    ) -> Output {
        let source = self.dir.path().join("unit");
        let header = self.header.display();
        std::fs::write(&source, format!("#include \"{header}\"\n{emitted}")).unwrap();
        let mut command = Command::new(target.program);
        command.args(target.flags).args(flags).arg(out);
        command.arg("-I").arg(self.dir.path().join("include"));
        command.args(["-x", target.language]).arg(&source);
        command.output().unwrap()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
