//! Files that were mapped during a recording, and their addresses: a kernel alone or with its modules,
//! or a program and its shared libraries.
//!
//! Debug information is about *link-time* addresses of one file, a recording about addresses of one
//! run. [`DebugImages::locate`] turns the latter into the former, a [`LinkedAddress`].

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{LoadedModule, Profile, RecordedRun, RunId};
use rustc_hash::FxHashSet;

/// Index of a file in its [`DebugImages`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileId(pub u16);

impl FileId {
    /// The kernel, or the program itself.
    pub const MAIN: Self = Self(0);
}

/// Link-time address in one of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkedAddress {
    /// File that holds the address.
    pub file: FileId,
    /// Address as in the file's symbols.
    pub address: u64,
}

/// Module of a run whose file is known.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MappedModule {
    path: String,
    start: u64,
    end: u64,
    bias: u64,
    file: FileId,
}

/// Files, and the addresses of each in each run.
pub struct DebugImages<'f, 'a> {
    files: Vec<&'f DwarfFile<'a>>,
    /// Modules by run and start. Without any run, all addresses are link-time addresses of the main
    /// file.
    runs: Vec<Vec<MappedModule>>,
    /// The main file is a kernel, and the others are its modules.
    is_kernel: bool,
}

impl<'f, 'a> DebugImages<'f, 'a> {
    /// Makes images of a single file at its link-time addresses, such as a kernel.
    pub fn from_single_file(file: &'f DwarfFile<'a>) -> Self {
        Self {
            files: vec![file],
            runs: Vec::new(),
            is_kernel: false,
        }
    }

    /// Makes images of the modules of a program or kernel: `main` for the program or kernel itself,
    /// and the files that `file_of` returns for the others. A profile without modules uses `main`
    /// alone.
    pub fn from_modules(
        profile: &Profile,
        main: &'f DwarfFile<'a>,
        mut file_of: impl FnMut(&LoadedModule) -> Option<&'f DwarfFile<'a>>,
    ) -> Self {
        let mut images = Self::from_single_file(main);
        if profile.meta.runs.iter().all(|run| run.modules.is_empty()) {
            return images;
        }
        images.is_kernel = profile.meta.target == "kernel";
        for run in &profile.meta.runs {
            let program = main_module(profile, run).map(|m| (m.start, m.bias));
            let mut mapped: Vec<MappedModule> = Vec::new();
            for module in &run.modules {
                let file = if Some((module.start, module.bias)) == program {
                    Some(FileId::MAIN)
                } else {
                    file_of(module).and_then(|file| images.file_number(file))
                };
                mapped.extend(file.map(|file| MappedModule {
                    path: module.path.clone(),
                    start: module.start,
                    end: module.end,
                    bias: module.bias,
                    file,
                }));
            }
            mapped.sort_by_key(|module| module.start);
            images.runs.push(mapped);
        }
        images
    }

    /// Returns all files, of which [`FileId`] is the index. There is at least one.
    pub fn files(&self) -> &[&'f DwarfFile<'a>] {
        &self.files
    }

    /// Returns the file of an id.
    ///
    /// # Panics
    /// Panics if the id belongs to other images.
    pub fn file(&self, id: FileId) -> &'f DwarfFile<'a> {
        self.files[usize::from(id.0)]
    }

    /// Returns the link-time address of an address of a run; `None` if no known file was mapped
    /// there.
    pub fn locate(&self, run: RunId, address: u64) -> Option<LinkedAddress> {
        if self.runs.is_empty() {
            return Some(LinkedAddress {
                file: FileId::MAIN,
                address,
            });
        }
        let run = self.runs.get(usize::from(run))?;
        let after = run.partition_point(|module| module.start <= address);
        let module = run.get(after.checked_sub(1)?)?;
        (address < module.end).then(|| LinkedAddress {
            file: module.file,
            address: address.wrapping_sub(module.bias),
        })
    }

    /// Returns the file of the module with this path in a run. A kernel's module has a row for each of
    /// its sections.
    pub fn file_by_path(&self, run: RunId, path: &str) -> Option<FileId> {
        let run = self.runs.get(usize::from(run))?;
        let module = run.iter().find(|module| module.path == path)?;
        Some(module.file)
    }

    /// Returns true if the files are a program and its libraries, mapped at addresses of the run's
    /// own.
    pub fn is_program(&self) -> bool {
        !self.runs.is_empty() && !self.is_kernel
    }

    /// Returns true if the files are a kernel and modules that are linked against it.
    pub fn has_kernel_modules(&self) -> bool {
        self.is_kernel
    }

    fn file_number(&mut self, file: &'f DwarfFile<'a>) -> Option<FileId> {
        let known = self
            .files
            .iter()
            .position(|other| std::ptr::eq(*other, file));
        let at = known.unwrap_or_else(|| {
            self.files.push(file);
            self.files.len() - 1
        });
        u16::try_from(at).ok().map(FileId)
    }
}

/// Returns the module of the profile's program itself: by its build id, else by its path, else the
/// first in the list. A further process may be of another program, and then has none.
pub fn main_module<'m>(profile: &Profile, run: &'m RecordedRun) -> Option<&'m LoadedModule> {
    let (meta, modules) = (&profile.meta, &run.modules);
    let by_id = |m: &&LoadedModule| !meta.build_id.is_empty() && m.build_id == meta.build_id;
    let by_path = |m: &&LoadedModule| m.path == meta.debug_file || m.path == meta.release;
    let mut found = modules.iter().find(by_id);
    found = found.or_else(|| modules.iter().find(by_path));
    found.or_else(|| modules.first().filter(|_| !run.is_further_process()))
}

/// Returns the modules of all runs that hold an instruction or an address of the profile, by path
/// and build id, except the program itself. The debug information of the others is of no use.
pub fn modules_used(profile: &Profile) -> Vec<LoadedModule> {
    let mut used: Vec<LoadedModule> = Vec::new();
    let mut seen: FxHashSet<(&str, &str)> = FxHashSet::default();
    for (n, run) in profile.meta.runs.iter().enumerate() {
        let Ok(n) = u16::try_from(n) else { break };
        let program = main_module(profile, run);
        let mut modules: Vec<&LoadedModule> = run.modules.iter().collect();
        modules.sort_by_key(|module| module.start);
        let mut marks = vec![false; modules.len()];
        let mut mark = |address: u64| {
            let after = modules.partition_point(|module| module.start <= address);
            if let Some(at) = after.checked_sub(1)
                && address < modules[at].end
            {
                marks[at] = true;
            }
        };
        profile.sites.iter().for_each(|site| mark(site.pc));
        for row in profile.conflicts.iter().filter(|row| row.run == RunId(n)) {
            mark(row.addr.0);
            mark(row.other_addr.0);
        }
        for (module, marked) in modules.iter().zip(marks) {
            let is_program = program.is_some_and(|p| std::ptr::eq(p, *module));
            if marked && !is_program && seen.insert((&module.path, &module.build_id)) {
                used.push((*module).clone());
            }
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use super::*;
    use relayout_profile::{ProfileMeta, Site};

    fn module(path: &str, start: u64, bias: u64) -> LoadedModule {
        LoadedModule {
            path: path.to_owned(),
            build_id: String::new(),
            start,
            end: start + 0x1000,
            bias,
        }
    }

    fn profile(modules: Vec<LoadedModule>, pcs: &[u64]) -> Profile {
        let site = |&pc: &u64| Site {
            pc,
            bytes: Vec::new(),
        };
        let run = RecordedRun {
            modules,
            ..RecordedRun::default()
        };
        Profile {
            meta: ProfileMeta {
                debug_file: "/bin/p".to_owned(),
                runs: vec![run],
                ..ProfileMeta::default()
            },
            sites: pcs.iter().map(site).collect(),
            ..Profile::default()
        }
    }

    #[test]
    fn the_program_is_known_by_its_path() {
        let all = profile(
            vec![
                module("/lib/c", 0x7000, 0x7000),
                module("/bin/p", 0x1000, 0),
            ],
            &[],
        );
        let main = main_module(&all, &all.meta.runs[0]);
        assert_eq!(main.map(|m| m.path.as_str()), Some("/bin/p"));
    }

    /// A kernel's modules have a row for each section, and its own memory is no program's.
    #[test]
    fn a_kernel_with_modules_is_no_program() {
        let elf = std::fs::read("/proc/self/exe").expect("this program");
        let parse = || DwarfFile::symbols_only(&elf).expect("symbols");
        let (kernel, other) = (parse(), parse());
        let mut all = profile(
            vec![
                module("/bin/p", 0x1000, 0),
                module("/m/overlay.ko", 0x9000, 0x100),
                module("/m/overlay.ko", 0x5000, 0x200),
            ],
            &[],
        );
        let images = DebugImages::from_modules(&all, &kernel, |_| Some(&other));
        assert!(images.is_program() && !images.has_kernel_modules());
        all.meta.target = "kernel".to_owned();
        let images = DebugImages::from_modules(&all, &kernel, |_| Some(&other));
        assert!(!images.is_program() && images.has_kernel_modules());
        let located = |address| {
            let found = images.locate(RunId(0), address)?;
            Some((found.file.0, found.address))
        };
        assert_eq!(located(0x1010), Some((0, 0x1010)));
        assert_eq!(located(0x9010), Some((1, 0x8f10)));
        assert_eq!(located(0x5010), Some((1, 0x4e10)));
        assert_eq!(located(0x7000), None);
        assert_eq!(
            images.file_by_path(RunId(0), "/m/overlay.ko"),
            Some(FileId(1))
        );
    }

    #[test]
    fn only_modules_with_addresses_are_used() {
        let modules = vec![
            module("/bin/p", 0x1000, 0),
            module("/lib/c", 0x7000, 0x7000),
            module("/lib/d", 0x9000, 0x9000),
        ];
        let used = modules_used(&profile(modules, &[0x1010, 0x9fff, 0x8000]));
        let paths: Vec<_> = used.iter().map(|m| m.path.as_str()).collect();
        assert_eq!(paths, ["/lib/d"]);
    }
}
