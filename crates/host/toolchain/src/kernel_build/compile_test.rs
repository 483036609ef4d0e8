//! Compile tests of a patch in other configurations: single objects instead of the kernel, whose
//! debug information also tells the layout of a type there.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use relayout_files::{cannot, find_in_path};

use super::tree::SourceCopy;
use super::{BuildWatch, Error, KernelBuilder, KernelPatch};

/// Debug information of all that an object includes, used or not, also where the configuration
/// wants it reduced (`CONFIG_DEBUG_INFO_REDUCED`, which the defconfig of arm64 sets).
const DEBUG_FLAGS: &str =
    "KCFLAGS=-g -fno-eliminate-unused-debug-types -femit-struct-debug-detailed=any";
/// Source files that include a header are looked for until so many are found.
const UNITS_MAX: usize = 12;
/// Units of these that are compiled in each configuration.
const COMPILED_MAX: usize = 2;
/// Folders of the kernel's own sources, in the order of the search.
const SOURCE_FOLDERS: &[&str] = &[
    "kernel", "mm", "fs", "lib", "block", "ipc", "net", "security", "crypto", "drivers",
];

/// An architecture and how it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelConfiguration {
    /// Architecture as the source names it: `x86`, `arm`.
    pub arch: String,
    /// The origin of the configuration.
    pub base: ConfigurationBase,
}

/// Origin of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigurationBase {
    /// A target of make's: `defconfig`, `allnoconfig`.
    Target(String),
    /// A file. Options that it leaves open take the source's defaults.
    File(PathBuf),
}

/// Why a text names no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write ARCH:TARGET or ARCH:/path/to/config, as in arm:defconfig, x86:allnoconfig or \
     x86:/boot/config-6.1.0-amd64"
)]
pub struct ConfigurationParseError;

impl FromStr for KernelConfiguration {
    type Err = ConfigurationParseError;

    fn from_str(text: &str) -> Result<Self, ConfigurationParseError> {
        let (arch, base) = text.split_once(':').ok_or(ConfigurationParseError)?;
        let is_plain_word = |word: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            !word.is_empty() && word.chars().all(is_plain)
        };
        let base = match base.contains('/') {
            true => ConfigurationBase::File(base.into()),
            false if is_plain_word(base) && base.ends_with("config") => {
                ConfigurationBase::Target(base.to_owned())
            }
            false => return Err(ConfigurationParseError),
        };
        match is_plain_word(arch) {
            true => Ok(Self {
                arch: arch.to_owned(),
                base,
            }),
            false => Err(ConfigurationParseError),
        }
    }
}

impl std::fmt::Display for KernelConfiguration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.base {
            ConfigurationBase::Target(target) => write!(f, "{}:{target}", self.arch),
            ConfigurationBase::File(path) => write!(f, "{}:{}", self.arch, path.display()),
        }
    }
}

impl KernelConfiguration {
    /// Returns the prefix of the compiler's programs: the first that is installed.
    fn cross_prefix(&self) -> Result<&'static str, Error> {
        let prefixes: &[&str] = match (self.arch.as_str(), std::env::consts::ARCH) {
            ("x86" | "x86_64" | "i386", "x86_64" | "x86") => return Ok(""),
            ("arm64", "aarch64") | ("arm", "arm") => return Ok(""),
            ("arm", _) => &["arm-linux-gnueabihf-", "arm-linux-gnueabi-"],
            ("arm64", _) => &["aarch64-linux-gnu-"],
            ("s390", _) => &["s390x-linux-gnu-"],
            ("powerpc", _) => &["powerpc64le-linux-gnu-", "powerpc64-linux-gnu-"],
            ("riscv", _) => &["riscv64-linux-gnu-"],
            ("x86" | "x86_64" | "i386", _) => &["x86_64-linux-gnu-"],
            _ => &[],
        };
        let is_installed = |prefix: &&&str| find_in_path(format!("{prefix}gcc")).is_some();
        prefixes
            .iter()
            .find(is_installed)
            .copied()
            .ok_or_else(|| Error::NoCompiler {
                arch: self.arch.clone(),
                compilers: prefixes
                    .iter()
                    .map(|prefix| format!("{prefix}gcc"))
                    .collect(),
            })
    }

    /// Name of the folder of this configuration.
    fn folder_name(&self) -> String {
        let hash = crc32fast::hash(self.to_string().as_bytes());
        format!("check-{}-{hash:08x}", self.arch)
    }
}

/// One object, compiled without the patch and with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestedObject {
    /// Its source file, from the top of the tree.
    pub unit: String,
    /// The object file without the patch.
    pub before: Vec<u8>,
    /// The object file with the patch, or the compiler's message.
    pub after: Result<Vec<u8>, String>,
}

impl KernelBuilder {
    /// Compiles objects that a diff changes or that include a changed header, in a configuration,
    /// without the diff and with it. `files` are the changed files, relative to the top of the
    /// tree. Empty if none of them belongs to the configuration.
    ///
    /// # Errors
    /// Something that compiling needs is missing, the diff does not apply, or the source without it
    /// cannot be configured.
    pub fn compile_objects(
        &self,
        diff: &str,
        configuration: &KernelConfiguration,
        files: &[String],
        watch: &BuildWatch<'_>,
    ) -> Result<Vec<TestedObject>, Error> {
        super::require_needs()?;
        let _lock = super::lock_folder(&self.folder, watch)?;
        self.require_space()?;
        let file = self.folder.join("check.patch");
        fs::write(&file, diff).map_err(cannot("write", &file))?;
        let patch = KernelPatch::read(&file, false)?;
        let folder = ObjectFolder {
            builder: self,
            out: self.folder.join(configuration.folder_name()),
            variables: vec![
                format!("ARCH={}", configuration.arch),
                format!("CROSS_COMPILE={}", configuration.cross_prefix()?),
                DEBUG_FLAGS.to_owned(),
            ],
            label: format!("objects as {configuration}"),
        };
        let tree = SourceCopy {
            source: &self.source,
            folder: &self.folder,
        };
        (watch.progress).step(&format!("compiling as {configuration}"));
        tree.synchronize(&self.manifest, None, watch)?;
        folder.configure(configuration, watch)?;
        let mut found = Vec::new();
        for unit in units_of_files(&tree.dir(), files) {
            watch.stop_if_interrupted()?;
            if found.len() < COMPILED_MAX
                && let Ok(before) = folder.compile_object(&unit, watch)
            {
                found.push((unit, before));
            }
        }
        tree.synchronize(&self.manifest, Some(&patch), watch)?;
        let mut objects = Vec::new();
        for (unit, before) in found {
            let after = match folder.compile_object(&unit, watch) {
                Ok(bytes) => Ok(bytes),
                Err(Error::Make { output, .. }) => Err(output),
                Err(other) => return Err(other),
            };
            objects.push(TestedObject {
                unit,
                before,
                after,
            });
        }
        Ok(objects)
    }
}

/// Output folder of the objects of one configuration.
struct ObjectFolder<'b> {
    builder: &'b KernelBuilder,
    out: PathBuf,
    variables: Vec<String>,
    label: String,
}

impl ObjectFolder<'_> {
    /// Makes the configuration again; `make` compares it with the earlier one.
    fn configure(
        &self,
        configuration: &KernelConfiguration,
        watch: &BuildWatch<'_>,
    ) -> Result<(), Error> {
        fs::create_dir_all(&self.out).map_err(cannot("create", &self.out))?;
        let target = match &configuration.base {
            ConfigurationBase::Target(target) => target,
            ConfigurationBase::File(path) => {
                let to = self.out.join(".config");
                fs::copy(path, &to).map_err(cannot("copy", path))?;
                "olddefconfig"
            }
        };
        self.make(target, watch)
    }

    fn compile_object(&self, unit: &str, watch: &BuildWatch<'_>) -> Result<Vec<u8>, Error> {
        let object = unit.strip_suffix('c').unwrap_or(unit).to_owned() + "o";
        let path = self.out.join(&object);
        self.make(&object, watch)?;
        Ok(fs::read(&path).map_err(cannot("read", &path))?)
    }

    fn make(&self, target: &str, watch: &BuildWatch<'_>) -> Result<(), Error> {
        let mut words: Vec<&str> = self.variables.iter().map(String::as_str).collect();
        words.push(target);
        self.builder
            .make_in_folder(&self.out, &words, &self.label, watch)
    }
}

/// Collects [`including_units`] of all files; files that are units themselves come first.
fn units_of_files(tree: &Path, files: &[String]) -> Vec<String> {
    let (sources, headers): (Vec<&String>, Vec<&String>) =
        files.iter().partition(|file| file.ends_with(".c"));
    let mut found: Vec<String> = Vec::new();
    for file in sources.into_iter().chain(headers) {
        for unit in including_units(tree, file) {
            if !found.contains(&unit) {
                found.push(unit);
            }
        }
    }
    found
}

/// Source files that include a header by a directive of their own: that of its name first, then
/// those in its folder, then others.
fn including_units(tree: &Path, header: &str) -> Vec<String> {
    let header = Path::new(header);
    if header.extension().is_some_and(|extension| extension == "c") {
        return vec![header.to_string_lossy().into_owned()];
    }
    let stem = header.file_stem().unwrap_or_default().to_string_lossy();
    let folder = header.parent().unwrap_or(Path::new(""));
    let own = match folder.starts_with("include") {
        true => None,
        false => Some(folder.to_owned()),
    };
    let folders = own
        .into_iter()
        .chain(SOURCE_FOLDERS.iter().map(PathBuf::from));
    let mut found: Vec<String> = Vec::new();
    for folder in folders {
        if found.len() < UNITS_MAX {
            find_including_units(tree, &folder, header, &mut found);
        }
    }
    let named = |unit: &String| {
        let unit = Path::new(unit)
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy();
        // `percpu.c` for percpu-internal.h, too.
        !(*unit == *stem
            || stem
                .strip_prefix(&*unit)
                .is_some_and(|rest| rest.starts_with(['-', '_'])))
    };
    found.sort_by_key(named);
    found
}

fn find_including_units(tree: &Path, folder: &Path, header: &Path, found: &mut Vec<String>) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(tree.join(&folder)) else {
            continue;
        };
        let mut names: Vec<PathBuf> = entries
            .flatten()
            .map(|entry| folder.join(entry.file_name()))
            .collect();
        names.sort();
        for name in names {
            if found.len() >= UNITS_MAX {
                return;
            }
            let path = tree.join(&name);
            if path.is_dir() {
                folders.push(name);
            } else if name.extension().is_some_and(|extension| extension == "c") {
                let name = name.to_string_lossy().into_owned();
                if !found.contains(&name) && has_include(&path, Path::new(&name), header) {
                    found.push(name);
                }
            }
        }
    }
}

/// Returns true if the file at `path` (`name` in the tree) includes the header.
fn has_include(path: &Path, name: &Path, header: &Path) -> bool {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let directive = |line: &str| {
        let rest = line
            .trim_start()
            .strip_prefix('#')?
            .trim_start()
            .strip_prefix("include")?
            .trim_start();
        let quoted = rest
            .strip_prefix('"')
            .and_then(|rest| rest.split('"').next());
        let angled = || {
            rest.strip_prefix('<')
                .and_then(|rest| rest.split('>').next())
        };
        quoted.or_else(angled).map(str::to_owned)
    };
    text.lines().filter_map(directive).any(|included| {
        let below = |folder: &str| header == Path::new(folder).join(&included);
        let beside = name.parent().map(|folder| folder.join(&included));
        below("include") || beside.is_some_and(|beside| normalized(&beside) == header)
    })
}

/// The path without `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                plain.pop();
            }
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations() {
        let check = |text: &str, arch: &str, base: ConfigurationBase| {
            let read: KernelConfiguration = text.parse().unwrap();
            assert_eq!((read.arch.as_str(), &read.base), (arch, &base));
            assert_eq!(read.to_string(), text);
        };
        check(
            "arm:defconfig",
            "arm",
            ConfigurationBase::Target("defconfig".into()),
        );
        check(
            "x86:allnoconfig",
            "x86",
            ConfigurationBase::Target("allnoconfig".into()),
        );
        check(
            "x86:./a=b:c",
            "x86",
            ConfigurationBase::File("./a=b:c".into()),
        );
        for text in [
            "",
            "arm",
            "arm:",
            ":defconfig",
            "arm:clean",
            "a/b:defconfig",
            "arm:x y config",
        ] {
            assert!(text.parse::<KernelConfiguration>().is_err(), "{text}");
        }
    }

    #[test]
    fn units_that_include_a_header() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = dir.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("mm/percpu-internal.h", "");
        write("mm/memory.c", "#include \"percpu-internal.h\"\n");
        write("mm/percpu.c", "  # include  \"percpu-internal.h\"\n");
        write("mm/other.c", "// #include \"percpu-internal.h\"\n");
        write(
            "fs/deep/in.c",
            "#include \"../../mm/percpu-internal.h\"\n#include <linux/mm.h>",
        );
        write("kernel/same.c", "#include \"percpu-internal.h\"\n");
        let found = |header: &str| including_units(dir.path(), header);
        assert_eq!(
            found("mm/percpu-internal.h"),
            ["mm/percpu.c", "mm/memory.c", "fs/deep/in.c"]
        );
        assert_eq!(found("include/linux/mm.h"), ["fs/deep/in.c"]);
        assert_eq!(found("mm/percpu.c"), ["mm/percpu.c"]);
        assert_eq!(found("include/none.h"), [""; 0]);
        let files = ["include/linux/mm.h", "mm/other.c"].map(str::to_owned);
        assert_eq!(
            units_of_files(dir.path(), &files),
            ["mm/other.c", "fs/deep/in.c"]
        );
    }
}
