//! One small translation unit per header, compiled with a copy of that header in front of all
//! others; the object file is only read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How headers below a root are compiled.
pub struct Compiler {
    /// The compiler and its flags.
    pub words: Vec<String>,
    /// Where it runs: relative flags count from there.
    pub folder: PathBuf,
    /// What header paths are relative to.
    pub root: PathBuf,
    /// Folders below the root that `<...>` searches.
    pub searched: Vec<String>,
    /// For the copies and the units.
    pub scratch: PathBuf,
    /// Objects of unedited headers, by path; `None`: it does not compile alone.
    plain: HashMap<String, Option<Plain>>,
}

/// An unedited header's object, and what the unit includes.
#[derive(Clone)]
pub struct Plain {
    pub object: Vec<u8>,
    unit: String,
}

/// The compiler and flags of `asm-offsets.s`.
fn kernel_flags(build: &Path) -> Vec<String> {
    let path = build.join("arch/x86/kernel/.asm-offsets.s.cmd");
    let text = std::fs::read_to_string(&path).expect("the build folder is prepared");
    let line = text.lines().next().expect("the command is the first line");
    let (_, command) = line.split_once(":=").expect("it is an assignment");
    let words = shlex::split(command).expect("quotes are closed");
    let flags = words
        .into_iter()
        .take_while(|word| word != "-fverbose-asm" && word != "-S" && word != "-c");
    flags
        .filter(|word| !word.starts_with("-Wp,") && !word.starts_with("-g"))
        .collect()
}

impl Compiler {
    /// For the headers of the kernel at `source`, for which `build` was prepared.
    pub fn of_kernel(build: PathBuf, source: PathBuf, scratch: PathBuf) -> Self {
        let flags = kernel_flags(&build);
        let searched = ["include", "arch/x86/include"];
        Self::new(flags, build, source, &searched, scratch)
    }

    pub fn new(
        words: Vec<String>,
        folder: PathBuf,
        root: PathBuf,
        searched: &[&str],
        scratch: PathBuf,
    ) -> Self {
        let searched = searched.iter().map(|&folder| folder.to_owned()).collect();
        Compiler {
            words,
            folder,
            root,
            searched,
            scratch,
            plain: HashMap::new(),
        }
    }

    /// The object of the unedited header; `None` if neither it nor what the first source file
    /// beside it includes compiles alone.
    pub fn plain(&mut self, path: &str, text: &str) -> Option<Plain> {
        if let Some(kept_object) = self.plain.get(path) {
            return kept_object.clone();
        }
        let units = [Some(format!("#include {}\n", self.spelled(path)))]
            .into_iter()
            .chain([self.beside(path)]);
        let plain = units.flatten().find_map(|unit| {
            let object = self.compile(path, text, &unit).ok()?;
            Some(Plain { object, unit })
        });
        self.plain.insert(path.to_owned(), plain.clone());
        plain
    }

    /// The object with another text of the header, or what the compiler says.
    pub fn edited(&self, path: &str, text: &str, plain: &Plain) -> Result<Vec<u8>, String> {
        self.compile(path, text, &plain.unit)
    }

    /// As code would include it.
    fn spelled(&self, path: &str) -> String {
        let below = |folder: &String| path.strip_prefix(folder.as_str())?.strip_prefix('/');
        match self.searched.iter().find_map(below) {
            Some(name) => format!("<{name}>"),
            None => format!("\"{path}\""),
        }
    }

    /// All that the first source file that includes the header by name includes.
    fn beside(&self, path: &str) -> Option<String> {
        let (folder, name) = path.rsplit_once('/')?;
        let wanted = format!("#include \"{name}\"");
        let mut files: Vec<PathBuf> = std::fs::read_dir(self.root.join(folder))
            .ok()?
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
            .collect();
        files.sort();
        let text = files
            .iter()
            .filter_map(|file| std::fs::read_to_string(file).ok())
            .find(|text| text.lines().any(|line| line.trim_end() == wanted))?;
        let lines = text.lines().filter(|line| line.starts_with("#include"));
        Some(lines.map(|line| format!("{line}\n")).collect())
    }

    fn compile(&self, path: &str, text: &str, unit: &str) -> Result<Vec<u8>, String> {
        let (copies, io) = (
            self.scratch.join("copy"),
            "the scratch folder can be written",
        );
        let _ = std::fs::remove_dir_all(&copies);
        let copy = copies.join(path);
        let beside = copy.parent().expect("it lies in a folder").to_owned();
        std::fs::create_dir_all(&beside).expect(io);
        std::fs::write(&copy, text).expect(io);
        let source = self.scratch.join("unit.c");
        let output = self.scratch.join("unit.o");
        std::fs::write(&source, unit).expect(io);
        let own = Path::new(path).parent().unwrap_or(Path::new(""));
        let mut command = Command::new(&self.words[0]);
        for folder in [&copies, &beside, &self.root, &self.root.join(own)] {
            command.arg("-iquote").arg(folder);
        }
        for folder in &self.searched {
            command.arg("-I").arg(copies.join(folder));
        }
        command.args(&self.words[1..]);
        command.args([
            "-w",
            "-O0",
            "-g",
            "-fno-eliminate-unused-debug-types",
            "-c",
            "-o",
        ]);
        command.args([&output, &source]).current_dir(&self.folder);
        let done = command.output().expect("the compiler runs");
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            let lines = said.lines().filter(|line| line.contains("error"));
            return Err(lines.take(2).collect::<Vec<_>>().join("; "));
        }
        Ok(std::fs::read(output).expect("the compiler wrote it"))
    }
}
