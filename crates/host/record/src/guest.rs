//! The program that runs in the guest, and its workloads.

use std::borrow::Cow;

use relayout_files::{CacheFolder, cannot, read_regular};

use crate::{Error, GuestMachine};

/// The program for x86-64, which the build compiles.
const X86_PROGRAM: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/relayout-guest"));

/// The static binary that is both the guest's init and its workloads.
#[derive(Clone, Debug)]
pub struct GuestProgram(Cow<'static, [u8]>);

impl GuestProgram {
    /// Returns the program for a machine: for x86-64 this build's, for others the one that
    /// `scripts/setup.sh` compiled into the cache folder.
    ///
    /// # Errors
    /// There is none in the cache folder, or it cannot be read.
    pub fn find(machine: GuestMachine, cache: Option<&CacheFolder>) -> Result<Self, Error> {
        if machine == GuestMachine::X86 {
            return Ok(Self(X86_PROGRAM.into()));
        }
        let compiled = cache.and_then(|cache| cache.guest_program(machine.name()));
        let path = compiled.ok_or_else(|| relayout_files::Error::Missing {
            missing: format!("the guest's program for {}", machine.name()),
            remedy: Some(format!(
                "run {} --arm64, which compiles it",
                relayout_files::setup_command()
            )),
        })?;
        let bytes = read_regular(&path).map_err(cannot("read", &path))?;
        Ok(Self(bytes.into()))
    }

    /// Bytes of the ELF file.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Fails unless the program reads each of these files, which have its orders. A program in the
    /// cache folder may be older than this build.
    ///
    /// # Errors
    /// The program does not have the name of a file.
    pub(crate) fn require_orders<'p>(
        &self,
        paths: impl IntoIterator<Item = &'p str>,
    ) -> Result<(), Error> {
        let is_unknown = |path: &&str| memchr::memmem::find(&self.0, path.as_bytes()).is_none();
        match paths.into_iter().find(is_unknown) {
            None => Ok(()),
            Some(path) => Err(relayout_files::Error::Missing {
                missing: format!("a guest's program that reads {path}"),
                remedy: Some(format!(
                    "the compiled one is older than relayout: run {} --arm64 again",
                    relayout_files::setup_command()
                )),
            }
            .into()),
        }
    }
}

const WORKLOAD_LIST: &str = include_str!(concat!(env!("OUT_DIR"), "/workloads.txt"));

/// One workload of the guest's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuestWorkload {
    /// Its name.
    pub name: &'static str,
    /// Operations of each thread by default.
    pub iterations: u64,
    /// Description in one line.
    pub description: &'static str,
}

/// Returns all workloads, in the order of the guest's program.
pub fn workloads() -> impl Iterator<Item = GuestWorkload> {
    WORKLOAD_LIST.lines().filter_map(|line| {
        let mut columns = line.splitn(3, '\t');
        Some(GuestWorkload {
            name: columns.next()?,
            iterations: columns.next()?.parse().ok()?,
            description: columns.next()?,
        })
    })
}

/// The workload with this name.
///
/// # Errors
/// No workload has the name.
pub fn find_workload(name: &str) -> Result<GuestWorkload, Error> {
    workloads()
        .find(|w| w.name == name)
        .ok_or_else(|| Error::UnknownWorkload {
            name: name.to_owned(),
            close: workloads()
                .map(|w| w.name)
                .find(|workload_name| is_similar_name(workload_name, name))
                .map(str::to_owned),
        })
}

/// Returns true if the names differ by one wrong, missing, extra or swapped letter, or only by case
/// and `_`.
pub(crate) fn is_similar_name(existing: &str, name: &str) -> bool {
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let (existing_plain, name_plain) = (plain(existing), plain(name));
    existing_plain == name_plain || strsim::levenshtein(&existing_plain, &name_plain) <= 2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_what_the_guest_has() {
        let names: Vec<_> = workloads().map(|w| w.name).collect();
        for name in ["mmap1", "page_fault2", "execl", "fcopy", "forkexec", "pipe"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        for name in ["tlb", "mntns", "tmpfs", "stat", "open_close", "sock"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        assert!(workloads().all(|w| w.iterations > 0 && !w.description.is_empty()));
    }

    #[test]
    fn a_program_that_is_too_old_is_refused() {
        let program = GuestProgram::find(GuestMachine::X86, None).expect("built in");
        let known = ["/run/relayout-disks", "/run/relayout-modules"];
        program.require_orders(known).expect("known");
        let error = program.require_orders(["/run/relayout-later"]);
        let text = error.expect_err("unknown").to_string();
        assert!(text.contains("scripts/setup.sh --arm64"), "{text}");
    }

    #[test]
    fn suggests_a_name() {
        let suggestion = |name: &str| match find_workload(name) {
            Err(Error::UnknownWorkload { close, .. }) => close,
            other => panic!("{other:?}"),
        };
        assert_eq!(suggestion("mntnss").as_deref(), Some("mntns"));
        assert_eq!(suggestion("pagefault2").as_deref(), Some("page_fault2"));
        assert_eq!(suggestion("something"), None);
    }
}
