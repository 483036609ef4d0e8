//! What is to be known of a file, beside its types, to tell which rules apply to it.

use std::collections::BTreeMap;

use relayout_layout::ElfIdentity;

use crate::MachineArchitecture;

/// A file that is checked, as far as its conditions go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileFacts {
    /// Its path, as the caller gave it.
    pub path: String,
    /// Its processor; `None` for raw BTF, and for processors without a name here.
    pub machine: Option<MachineArchitecture>,
    /// Bytes of a pointer.
    pub pointer_bytes: Option<u64>,
    /// The least byte comes first.
    pub little_endian: Option<bool>,
    /// In lower-case hexadecimal.
    pub build_id: Option<String>,
    /// The configuration of the kernel that it is or belongs to.
    pub kernel_config: Option<KernelConfig>,
}

impl FileFacts {
    /// What the headers of the file at `path` say.
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

    /// The last part of the path.
    pub fn file_name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// A kernel's `.config`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelConfig(BTreeMap<String, String>);

impl KernelConfig {
    /// Reads the text of a `.config`. Lines that set nothing are left aside.
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

    /// Whether it sets nothing at all, as no configuration of a kernel does.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The option's value as the text has it; `n` where it is not set.
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
