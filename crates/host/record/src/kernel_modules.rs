//! Kernel modules that the guest loads before its workload, with the modules that they need.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use relayout_files::{cannot, map_file, setup_command};
use relayout_layout::kernel_module::module_description;
use relayout_messages::ProblemReason;

use crate::Error;
use crate::guest::is_similar_name;
use crate::guest_program::GuestFiles;

/// List of a source tree's modules, in the order of its build.
const BUILD_ORDER: &str = "modules.order";
/// Folders within each other that are searched, at most.
const FOLDERS_MAX: usize = 16;
/// End of the names of modules.
const EXTENSION: &str = "ko";
/// File with the guest's orders, of which `collectors/guest/modules.h` speaks.
const ORDERS: &str = "/run/relayout-modules";
/// Folder of the modules in the guest.
const GUEST_FOLDER: &str = "/run/relayout-module";

/// Files of a kernel's modules by name.
#[derive(Clone, Debug, Default)]
pub struct ModuleFolder {
    path: Option<PathBuf>,
    files: BTreeMap<String, PathBuf>,
}

impl ModuleFolder {
    /// Finds the modules in a folder: a source tree that was built, or any folder with modules
    /// below it. A folder that is missing has none.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let mut found = Self {
            path: Some(folder.to_owned()),
            files: BTreeMap::new(),
        };
        match fs::read_to_string(folder.join(BUILD_ORDER)) {
            Ok(order) => found.add_built(folder, &order),
            Err(_) => found.add_below(folder, FOLDERS_MAX)?,
        }
        Ok(found)
    }

    /// Returns the file of a module. The kernel does not tell `-` and `_` in names apart.
    pub fn find(&self, name: &str) -> Option<&Path> {
        self.files.get(&plain_name(name)).map(PathBuf::as_path)
    }

    fn add_built(&mut self, folder: &Path, order: &str) {
        for line in order.lines() {
            // Since 6.2, the list names the objects that modules are made of.
            let path = folder.join(line).with_extension(EXTENSION);
            if path.is_file() {
                self.add_file(path);
            }
        }
    }

    fn add_below(&mut self, folder: &Path, depth: usize) -> Result<(), Error> {
        let entries = match fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(cannot("read", folder)(error).into()),
        };
        for entry in entries {
            let entry = entry.map_err(cannot("read", folder))?;
            let path = entry.path();
            let kind = entry.file_type().map_err(cannot("look at", &path))?;
            if kind.is_dir() && depth > 0 {
                self.add_below(&path, depth - 1)?;
            } else if path.extension() == Some(OsStr::new(EXTENSION)) {
                self.add_file(path);
            }
        }
        Ok(())
    }

    fn add_file(&mut self, path: PathBuf) {
        if let Some(name) = module_name(&path) {
            self.files.insert(name, path);
        }
    }

    fn unknown(&self, name: &str) -> Error {
        let is_close = |known: &&String| is_similar_name(known, name);
        Error::UnknownModule {
            name: name.to_owned(),
            folder: self.path.clone(),
            close: self.files.keys().find(is_close).cloned(),
        }
    }
}

/// Modules to load, each after those that it needs.
#[derive(Debug, Default)]
pub struct ModulesToLoad {
    files: Vec<PathBuf>,
}

impl ModulesToLoad {
    /// Finds the modules that are `wanted`, names or files, and those that they need, for the kernel
    /// `release`.
    ///
    /// # Errors
    /// A module is unknown, is no module, or is for another kernel.
    pub fn find(wanted: &[String], folder: &ModuleFolder, release: &str) -> Result<Self, Error> {
        let mut search = ModuleSearch {
            folder,
            release,
            seen: Vec::new(),
            found: Self::default(),
        };
        for name in wanted {
            let is_file = name.contains('/') || name.ends_with(".ko");
            let path = match is_file {
                true => PathBuf::from(name),
                false => {
                    let path = folder.find(name).ok_or_else(|| folder.unknown(name))?;
                    path.to_owned()
                }
            };
            search.add(&path)?;
        }
        Ok(search.found)
    }

    /// Returns the file of a module that is loaded.
    pub fn file_of(&self, name: &str) -> Option<&Path> {
        let is_meant = |path: &&PathBuf| module_name(path).as_deref() == Some(name);
        self.files.iter().find(is_meant).map(PathBuf::as_path)
    }

    /// Adds the modules to the guest's files, and the order to load them.
    ///
    /// # Errors
    /// A module cannot be read, or the guest has not enough memory.
    pub fn pack(&self, files: &mut GuestFiles) -> Result<(), Error> {
        let mut order = Vec::new();
        for path in &self.files {
            let name = path.file_name().unwrap_or_default();
            let guest = Path::new(GUEST_FOLDER).join(name);
            files.add_file(path, &guest)?;
            order.extend_from_slice(guest.as_os_str().as_encoded_bytes());
            order.push(0);
        }
        if !order.is_empty() {
            files.add_bytes(Path::new(ORDERS), order, 0o600);
        }
        Ok(())
    }
}

struct ModuleSearch<'s> {
    folder: &'s ModuleFolder,
    release: &'s str,
    /// Modules that are found, or whose needs are being searched.
    seen: Vec<PathBuf>,
    found: ModulesToLoad,
}

impl ModuleSearch<'_> {
    fn add(&mut self, path: &Path) -> Result<(), Error> {
        if self.seen.iter().any(|seen| seen == path) {
            return Ok(());
        }
        self.seen.push(path.to_owned());
        let refuse = |why: ProblemReason| Error::Module {
            path: path.to_owned(),
            why,
        };
        let bytes = map_file(path).map_err(cannot("read", path))?;
        let description =
            module_description(&bytes).map_err(|error| refuse(error.to_string().into()))?;
        let release = description.version_magic.split(' ').next();
        let release = release.unwrap_or_default();
        if release != self.release {
            let built_for = match release {
                "" => "no kernel".to_owned(),
                release => format!("the kernel {release}"),
            };
            let why = format!(
                "it was built for {built_for}, and the guest's is {}",
                self.release
            );
            return Err(refuse(why.into()));
        }
        for name in &description.dependencies {
            let needed = self.folder.find(name).ok_or_else(|| {
                let remedy = format!("{} --module {name} fetches it", setup_command());
                let why = format!("it needs the module {name}, which is missing");
                refuse(ProblemReason::new(why).with_remedy(remedy))
            })?;
            self.add(needed)?;
        }
        self.found.files.push(path.to_owned());
        Ok(())
    }
}

/// Name of the module in a file, as the kernel has it.
pub fn module_name(path: &Path) -> Option<String> {
    path.file_stem()?.to_str().map(plain_name)
}

fn plain_name(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    const RELEASE: &str = "6.1.0-test";

    /// Compiles a module of that name, which needs others.
    fn compile_module(folder: &Path, name: &str, release: &str, depends: &str) {
        let source = folder.join(format!("{name}.c"));
        let text = format!(
            "const char a[] __attribute__((section(\".modinfo\"))) = \"depends={depends}\";\n\
             const char b[] __attribute__((section(\".modinfo\"))) = \"vermagic={release} SMP\";\n"
        );
        fs::write(&source, text).expect("written");
        let out = folder.join(format!("{name}.ko"));
        let status = Command::new("cc")
            .arg("-c")
            .arg("-o")
            .args([&out, &source])
            .status();
        assert!(status.is_ok_and(|done| done.success()), "cc failed");
    }

    fn sample_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        let below = folder.path().join("fs");
        fs::create_dir(&below).expect("created");
        compile_module(folder.path(), "top-most", RELEASE, "middle,base");
        compile_module(&below, "middle", RELEASE, "base");
        compile_module(&below, "base", RELEASE, "");
        compile_module(&below, "foreign", "5.10.0", "");
        compile_module(&below, "lonely", RELEASE, "nobody");
        folder
    }

    fn find(wanted: &[&str]) -> Result<Vec<String>, String> {
        let folder = sample_folder();
        let modules = ModuleFolder::read(folder.path()).expect("read");
        let wanted: Vec<String> = wanted.iter().map(|name| (*name).to_owned()).collect();
        let found = ModulesToLoad::find(&wanted, &modules, RELEASE);
        let place = format!("{}/", folder.path().display());
        let found = found.map_err(|error| error.to_string().replace(&place, ""))?;
        Ok({ found.files.iter() }
            .filter_map(|path| module_name(path))
            .collect())
    }

    #[test]
    fn modules_come_after_those_that_they_need() {
        let expect = Ok(["base", "middle", "top_most"].map(str::to_owned).to_vec());
        assert_eq!(find(&["top_most"]), expect);
        assert_eq!(find(&["base", "top-most", "middle"]), expect);
    }

    #[test]
    fn modules_that_cannot_be_loaded_are_refused() {
        let check = |name: &str, part: &str| {
            let error = find(&[name]).expect_err("no such module");
            assert!(error.contains(part), "{error}");
        };
        check("midle", "(did you mean 'middle'?)");
        check("midle", "scripts/setup.sh --module midle");
        check(
            "foreign",
            "fs/foreign.ko cannot be loaded into the guest: it was built for the kernel 5.10.0, and the \
             guest's is 6.1.0-test",
        );
        check("lonely", "it needs the module nobody");
        check("./nowhere.ko", "nowhere.ko");
    }

    #[test]
    fn a_tree_that_was_built_lists_its_modules() {
        let folder = sample_folder();
        let order = "fs/base.o\nfs/middle.ko\nfs/missing.o\n";
        fs::write(folder.path().join(BUILD_ORDER), order).expect("written");
        let modules = ModuleFolder::read(folder.path()).expect("read");
        let names: Vec<&str> = modules.files.keys().map(String::as_str).collect();
        assert_eq!(names, ["base", "middle"]);
    }
}
