//! Facts about a file, beside its types, that decide which rules apply to it.

use std::collections::BTreeMap;

use relayout_layout::ElfIdentity;

use crate::MachineArchitecture;

/// Facts about a checked file for the evaluation of conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Path of the file, as given by the caller.
    pub path: String,
    /// Processor of the file. `None` for raw BTF and for processors without a
    /// [`MachineArchitecture`].
    pub machine: Option<MachineArchitecture>,
    /// Size of a pointer in bytes.
    pub pointer_bytes: Option<u64>,
    /// True if the byte order is little endian.
    pub little_endian: Option<bool>,
    /// Build id in lower-case hexadecimal.
    pub build_id: Option<String>,
    /// Configuration of the kernel that the file is or belongs to.
    pub kernel_config: Option<KernelConfig>,
}

impl FileFacts {
    /// Reads the facts from the headers of the file at `path`.
    pub fn from_headers(path: impl Into<String>, bytes: &[u8]) -> Self {
        let about = ElfIdentity::parse(bytes);
        let about = about.as_ref();
        Self {
            path: path.into(),
            machine: about.and_then(|about| MachineArchitecture::from_elf(about.machine)),
            pointer_bytes: about.map(|about| about.pointer_bytes),
            little_endian: about.map(|about| about.little_endian),
            build_id: about.and_then(|about| about.build_id.clone()),
            kernel_config: None,
        }
    }

    /// Last component of the path.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// Options of a kernel's `.config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig(BTreeMap<String, String>);

impl KernelConfig {
    /// Parses the text of a `.config`. Lines that set no option are ignored.
    pub fn parse(text: &str) -> Self {
        let set = |line: &str| {
            let (option, value) = line.split_once('=')?;
            let option = option.trim();
            let value = value.trim().to_owned();
            option
                .starts_with("CONFIG_")
                .then(|| (option.to_owned(), value))
        };
        Self(text.lines().filter_map(set).collect())
    }

    /// Returns true if no option is set. A real kernel configuration sets options.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Value of the option in the syntax of `.config`; `n` if the option is not set.
    pub fn value(&self, option: &str) -> &str {
        self.0.get(option).map_or("n", String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::KernelConfig;

    #[test]
    fn options_of_a_kernel() {
        let config = KernelConfig::parse(
            "#\n# Linux/x86 6.1 Kernel Configuration\n#\nCONFIG_SMP=y\n# CONFIG_LOCKDEP is not set\n\
             CONFIG_NR_CPUS=512\nCONFIG_BUILD_SALT=\"6.1.0-56\"\nCONFIG_E1000=m\n",
        );
        for (option, expect) in [
            ("CONFIG_SMP", "y"),
            ("CONFIG_LOCKDEP", "n"),
            ("CONFIG_NEVER_HEARD_OF", "n"),
            ("CONFIG_NR_CPUS", "512"),
            ("CONFIG_BUILD_SALT", "\"6.1.0-56\""),
            ("CONFIG_E1000", "m"),
        ] {
            assert_eq!(config.value(option), expect, "{option}");
        }
        assert!(KernelConfig::parse("\x7fELF\nx=y").is_empty());
    }
}
