//! Folders to compile in, and the files that DWARF refers to.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use relayout_layout::catalog::{CatalogInputs, DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::{CompanionFiles, SectionStore, SplitUnit, SupplementaryLink};
use relayout_layout::{Aggregate, TypeArena};
use tempfile::TempDir;

/// Folder that is deleted after the test.
pub struct TestFolder(TempDir);

impl TestFolder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("the file can be written");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Runs a command line in the folder, which must succeed. Returns its output.
    pub fn run(&self, line: &str) -> String {
        let mut words = line.split_whitespace();
        let program = words.next().expect("a program");
        let done = Command::new(program)
            .args(words)
            .current_dir(self.0.path())
            .output()
            .unwrap_or_else(|error| panic!("{program}: {error}"));
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{line}: {said}");
        String::from_utf8_lossy(&done.stdout).into_owned()
    }
}

/// Files beside a program, as the command finds them.
pub struct FolderCompanions<'f> {
    folder: &'f TestFolder,
    program: &'f str,
    supplementary: OnceLock<Option<Vec<u8>>>,
    package: OnceLock<Option<Vec<u8>>>,
    split: OnceLock<Vec<Option<Vec<u8>>>>,
}

impl<'f> FolderCompanions<'f> {
    pub fn new(folder: &'f TestFolder, program: &'f str) -> Self {
        Self {
            folder,
            program,
            supplementary: OnceLock::new(),
            package: OnceLock::new(),
            split: OnceLock::new(),
        }
    }
}

impl CompanionFiles for FolderCompanions<'_> {
    fn supplementary(&self, link: &SupplementaryLink) -> Option<&[u8]> {
        let read = || fs::read(self.folder.path(&link.name)).ok();
        self.supplementary.get_or_init(read).as_deref()
    }

    fn package(&self) -> Option<&[u8]> {
        let read = || fs::read(self.folder.path(&format!("{}.dwp", self.program))).ok();
        self.package.get_or_init(read).as_deref()
    }

    fn split_units(&self, wanted: &[SplitUnit]) -> Vec<Option<&[u8]>> {
        let read = |unit: &SplitUnit| fs::read(Path::new(&unit.path())).ok();
        let files = self.split.get_or_init(|| wanted.iter().map(read).collect());
        files.iter().map(Option::as_deref).collect()
    }
}

/// Opens a file of the folder with the files that it refers to.
pub fn with_catalog<T>(
    folder: &TestFolder,
    name: &str,
    visit: impl FnOnce(&TypeCatalog<'_>) -> T,
) -> T {
    let (bytes, store) = (folder.read(name), SectionStore::default());
    let companions = FolderCompanions::new(folder, name);
    let sources = CatalogInputs {
        store: &store,
        companions: &companions,
        btf_base: None,
    };
    let catalog = TypeCatalog::parse_with_companions(&bytes, sources, DebugInfoFormat::Any);
    visit(&catalog.unwrap_or_else(|error| panic!("{name}: {error}")))
}

/// Adds one line for each member of a type, and for the members of anonymous types inside.
fn describe(types: &TypeArena, aggregate: &Aggregate, text: &mut String) {
    let name = aggregate.name.as_deref().unwrap_or_default();
    let _ = writeln!(text, "{} {name} {}", aggregate.kind, aggregate.size);
    for member in &aggregate.members {
        let (name, ty) = (&member.name, types.name_of(member.ty));
        let _ = writeln!(text, "{name:?} {ty} {} {:?}", member.offset, member.bits);
        let inner = types.aggregate(member.ty);
        if let Some(inner) = inner.filter(|inner| inner.name.is_none()) {
            describe(types, inner, text);
        }
    }
}

/// Layouts of all aggregates of a file, sorted, and its missing companions.
pub fn layouts(folder: &TestFolder, name: &str) -> (Vec<String>, Vec<String>) {
    with_catalog(folder, name, |catalog| {
        let entries = catalog.aggregates();
        let texts = catalog.map_loaded(&entries, |types, id, _| {
            let mut text = String::new();
            if let Some(aggregate) = types.aggregate(id) {
                describe(types, aggregate, &mut text);
            }
            text
        });
        let mut texts = texts.unwrap_or_else(|error| panic!("{name}: {error}"));
        texts.sort();
        let missing = catalog.missing_companions().iter().map(ToString::to_string);
        (texts, missing.collect())
    })
}
