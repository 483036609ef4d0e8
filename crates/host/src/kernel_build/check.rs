//! Whether a patched source compiles in other configurations, and what a type looks like there: object by
//! object, not the kernel.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::tree::Tree;
use super::{Builder, Error, Patch, Watch};
use crate::file_error::cannot;

/// Debug information of all that an object includes, used or not.
const FLAGS: &str = "KCFLAGS=-g -fno-eliminate-unused-debug-types";
/// Source files that include a header are looked for until so many are found.
const UNITS_MAX: usize = 12;
/// Of those, so many are compiled in a configuration.
const COMPILED_MAX: usize = 2;
/// Where the kernel's own sources are, in the order they are looked through.
const FOLDERS: &[&str] = &[
    "kernel", "mm", "fs", "lib", "block", "ipc", "net", "security", "crypto", "drivers",
];

/// An architecture and how it is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Configuration {
    /// As the source names it: `x86`, `arm`.
    pub arch: String,
    /// What the configuration is made of.
    pub base: Base,
}

/// What a configuration is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Base {
    /// A target of make's: `defconfig`, `allnoconfig`.
    Target(String),
    /// A file; what it leaves open is as the source has it by default.
    File(PathBuf),
}

/// Why a text names no configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write ARCH:TARGET or ARCH:/path/to/config, as in arm:defconfig, x86:allnoconfig or \
     x86:/boot/config-6.1.0-amd64"
)]
pub struct NoConfiguration;

impl FromStr for Configuration {
    type Err = NoConfiguration;

    fn from_str(text: &str) -> Result<Self, NoConfiguration> {
        let (arch, base) = text.split_once(':').ok_or(NoConfiguration)?;
        let plain = |word: &str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            !word.is_empty() && word.chars().all(is_plain)
        };
        let base = match base.contains('/') {
            true => Base::File(base.into()),
            false if plain(base) && base.ends_with("config") => Base::Target(base.to_owned()),
            false => return Err(NoConfiguration),
        };
        match plain(arch) {
            true => Ok(Self {
                arch: arch.to_owned(),
                base,
            }),
            false => Err(NoConfiguration),
        }
    }
}

impl std::fmt::Display for Configuration {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.base {
            Base::Target(target) => write!(f, "{}:{target}", self.arch),
            Base::File(path) => write!(f, "{}:{}", self.arch, path.display()),
        }
    }
}

impl Configuration {
    /// What the compiler's programs begin with; the first that is installed, or why none is.
    fn cross(&self) -> Result<&'static str, Error> {
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
        let there = |prefix: &&&str| crate::survey::in_path(&format!("{prefix}gcc"));
        prefixes
            .iter()
            .find(there)
            .copied()
            .ok_or_else(|| Error::NoCompiler {
                arch: self.arch.clone(),
                compilers: prefixes.iter().map(|one| format!("{one}gcc")).collect(),
            })
    }

    /// For a folder; other configurations have other names.
    fn name(&self) -> String {
        let hash = crc32fast::hash(self.to_string().as_bytes());
        format!("check-{}-{hash:08x}", self.arch)
    }
}

/// One object, compiled without the patch and with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Its source file, from the top of the tree.
    pub unit: String,
    /// The object file without the patch.
    pub before: Vec<u8>,
    /// With it; or what the compiler says.
    pub after: Result<Vec<u8>, String>,
}

impl Builder {
    /// Compiles objects of what a diff changes (`files`, from the top of the tree), or that include it, in a
    /// configuration, without the diff and with it. Empty if none of them belongs to that configuration.
    ///
    /// # Errors
    /// Something that compiling needs is missing, another one is building from that source, the diff does not
    /// apply, or the source without it cannot be configured.
    pub fn compile(
        &self,
        diff: &str,
        configuration: &Configuration,
        files: &[String],
        watch: &Watch<'_>,
    ) -> Result<Vec<Object>, Error> {
        super::needs::check()?;
        let _lock = super::lock(&self.top)?;
        self.check_space()?;
        let file = self.top.join("check.patch");
        fs::write(&file, diff).map_err(cannot("write", &file))?;
        let patch = Patch::read(&file, false)?;
        let place = Place {
            builder: self,
            out: self.top.join(configuration.name()),
            variables: vec![
                format!("ARCH={}", configuration.arch),
                format!("CROSS_COMPILE={}", configuration.cross()?),
                FLAGS.to_owned(),
            ],
            what: format!("objects as {configuration}"),
        };
        let tree = Tree {
            source: &self.source,
            top: &self.top,
        };
        (watch.progress).step(&format!("compiling as {configuration}"));
        tree.follow(&self.manifest, None, watch)?;
        place.configure(configuration, watch)?;
        let mut found = Vec::new();
        for unit in units_of_all(&tree.dir(), files) {
            watch.check()?;
            if found.len() < COMPILED_MAX
                && let Ok(before) = place.object(&unit, watch)
            {
                found.push((unit, before));
            }
        }
        tree.follow(&self.manifest, Some(&patch), watch)?;
        let mut objects = Vec::new();
        for (unit, before) in found {
            let after = match place.object(&unit, watch) {
                Ok(bytes) => Ok(bytes),
                Err(Error::Make { said, .. }) => Err(said),
                Err(other) => return Err(other),
            };
            objects.push(Object {
                unit,
                before,
                after,
            });
        }
        Ok(objects)
    }
}

/// Where objects of one configuration are.
struct Place<'b> {
    builder: &'b Builder,
    out: PathBuf,
    variables: Vec<String>,
    what: String,
}

impl Place<'_> {
    /// Makes the configuration anew; what it was before, `make` compares.
    fn configure(&self, configuration: &Configuration, watch: &Watch<'_>) -> Result<(), Error> {
        fs::create_dir_all(&self.out).map_err(cannot("create", &self.out))?;
        let target = match &configuration.base {
            Base::Target(target) => target,
            Base::File(path) => {
                let to = self.out.join(".config");
                fs::copy(path, &to).map_err(cannot("copy", path))?;
                "olddefconfig"
            }
        };
        self.make(target, watch)
    }

    fn object(&self, unit: &str, watch: &Watch<'_>) -> Result<Vec<u8>, Error> {
        let object = unit.strip_suffix('c').unwrap_or(unit).to_owned() + "o";
        let path = self.out.join(&object);
        self.make(&object, watch)?;
        Ok(fs::read(&path).map_err(cannot("read", &path))?)
    }

    fn make(&self, target: &str, watch: &Watch<'_>) -> Result<(), Error> {
        let mut words: Vec<&str> = self.variables.iter().map(String::as_str).collect();
        words.push(target);
        self.builder.make_in(&self.out, &words, &self.what, watch)
    }
}

/// What [`units`] gives of each, those that change themselves first.
fn units_of_all(tree: &Path, files: &[String]) -> Vec<String> {
    let (sources, headers): (Vec<&String>, Vec<&String>) =
        files.iter().partition(|file| file.ends_with(".c"));
    let mut found: Vec<String> = Vec::new();
    for file in sources.into_iter().chain(headers) {
        for unit in units(tree, file) {
            if !found.contains(&unit) {
                found.push(unit);
            }
        }
    }
    found
}

/// Source files that include a header by a directive of their own: that of its name first, then those in its
/// folder, then others.
fn units(tree: &Path, header: &str) -> Vec<String> {
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
    let folders = own.into_iter().chain(FOLDERS.iter().map(PathBuf::from));
    let mut found: Vec<String> = Vec::new();
    for folder in folders {
        if found.len() < UNITS_MAX {
            search(tree, &folder, header, &mut found);
        }
    }
    let named = |unit: &String| {
        let unit = Path::new(unit).file_stem().unwrap_or_default();
        let unit = unit.to_string_lossy();
        // `percpu.c` for percpu-internal.h, too.
        !(*unit == *stem
            || stem
                .strip_prefix(&*unit)
                .is_some_and(|rest| rest.starts_with(['-', '_'])))
    };
    found.sort_by_key(named);
    found
}

fn search(tree: &Path, folder: &Path, header: &Path, found: &mut Vec<String>) {
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(tree.join(&folder)) else {
            continue;
        };
        let mut names: Vec<PathBuf> = entries
            .flatten()
            .map(|one| folder.join(one.file_name()))
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
                if !found.contains(&name) && includes(&path, Path::new(&name), header) {
                    found.push(name);
                }
            }
        }
    }
}

/// Whether the file at `path` (`name` in the tree) has an `#include` of the header.
fn includes(path: &Path, name: &Path, header: &Path) -> bool {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let directive = |line: &str| {
        let rest = line.trim_start().strip_prefix('#')?.trim_start();
        let rest = rest.strip_prefix("include")?.trim_start();
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
        below("include") || beside.is_some_and(|beside| plain(&beside) == header)
    })
}

/// The path without `..`.
fn plain(path: &Path) -> PathBuf {
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
        let check = |text: &str, arch: &str, base: Base| {
            let read: Configuration = text.parse().unwrap();
            assert_eq!((read.arch.as_str(), &read.base), (arch, &base));
            assert_eq!(read.to_string(), text);
        };
        check("arm:defconfig", "arm", Base::Target("defconfig".into()));
        check("x86:allnoconfig", "x86", Base::Target("allnoconfig".into()));
        check("x86:./a=b:c", "x86", Base::File("./a=b:c".into()));
        for text in [
            "",
            "arm",
            "arm:",
            ":defconfig",
            "arm:clean",
            "a/b:defconfig",
            "arm:x y config",
        ] {
            assert!(text.parse::<Configuration>().is_err(), "{text}");
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
        let found = |header: &str| units(dir.path(), header);
        assert_eq!(
            found("mm/percpu-internal.h"),
            ["mm/percpu.c", "mm/memory.c", "fs/deep/in.c"]
        );
        assert_eq!(found("include/linux/mm.h"), ["fs/deep/in.c"]);
        assert_eq!(found("mm/percpu.c"), ["mm/percpu.c"]);
        assert_eq!(found("include/none.h"), [""; 0]);
        let files = ["include/linux/mm.h", "mm/other.c"].map(str::to_owned);
        assert_eq!(
            units_of_all(dir.path(), &files),
            ["mm/other.c", "fs/deep/in.c"]
        );
    }
}
