//! Arguments of the plugin.

use std::ffi::{CStr, c_char, c_int};
use std::path::PathBuf;

use crate::simulated::SimulationOptions;

/// What the plugin does in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowMode {
    /// Record.
    #[default]
    Record,
    /// Measure the window, and watch nothing.
    Idle,
    /// Measure the window, and count its accesses.
    Count,
    /// Measure the window, and follow its lines: record, but for counts by site, values and order.
    Follow,
}

impl WindowMode {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "record" => Some(Self::Record),
            "idle" => Some(Self::Idle),
            "count" => Some(Self::Count),
            "lines" => Some(Self::Follow),
            _ => None,
        }
    }
}

/// Event that opens the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WindowOpening {
    /// The start marker.
    #[default]
    Marker,
    /// None: the plugin holds the guest at its start marker, so that the host can keep a snapshot.
    Held,
    /// The first translated code: the guest comes from a snapshot of the start marker.
    Now,
}

impl WindowOpening {
    fn from_name(name: &str) -> Option<Self> {
        match name {
            "marker" => Some(Self::Marker),
            "held" => Some(Self::Held),
            "now" => Some(Self::Now),
            _ => None,
        }
    }
}

/// Options that the host passed.
#[derive(Debug, Default, PartialEq)]
pub struct Options {
    /// Folder of the control file and the segments.
    pub dir: PathBuf,
    /// Accesses of a CPU between yields of the host thread, on average; 65536 at most, 0 for none.
    pub yield_every: u32,
    /// Seed of the random distances between yields.
    pub seed: u64,
    /// Code that is not recorded, `[from, to)`.
    pub skip: Vec<(u64, u64)>,
    /// What is done in the window.
    pub mode: WindowMode,
    /// Event that opens the window.
    pub window: WindowOpening,
    /// The program has markers of its own: default markers do not open the window.
    pub own_markers: bool,
    /// Only report that the plugin was loaded, and end QEMU.
    pub probe: bool,
    /// Burst records in all, at most; `None` for the default.
    pub bursts: Option<u64>,
    /// The guest executes in simulated time.
    pub simulation: Option<SimulationOptions>,
}

impl Options {
    /// Reads the arguments that QEMU passed.
    ///
    /// # Safety
    /// `argv` must hold `argc` valid C strings.
    pub unsafe fn from_argv(argc: c_int, argv: *const *const c_char) -> Result<Self, String> {
        let args = (0..usize::try_from(argc).unwrap_or(0)).map(|n| {
            // SAFETY: as promised by the caller.
            unsafe { CStr::from_ptr(*argv.add(n)) }
                .to_string_lossy()
                .into_owned()
        });
        Self::parse(args)
    }

    /// Returns whether a program in the guest is recorded, and not the guest's kernel.
    pub fn records_guest_program(&self) -> bool {
        { self.simulation.as_ref() }.is_some_and(|simulation| simulation.program.is_some())
    }

    fn parse(args: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self::default();
        for arg in args {
            let (key, value) = arg
                .split_once('=')
                .ok_or_else(|| format!("'{arg}' is not key=value"))?;
            let bad = || format!("bad value in '{arg}'");
            match key {
                "dir" => options.dir = PathBuf::from(value),
                "yield" => options.yield_every = value.parse().map_err(|_| bad())?,
                "seed" => options.seed = value.parse().map_err(|_| bad())?,
                "bursts" => options.bursts = Some(value.parse().map_err(|_| bad())?),
                "skip" => options.skip = parse_ranges(value).ok_or_else(bad)?,
                "mode" => options.mode = WindowMode::from_name(value).ok_or_else(bad)?,
                "window" => options.window = WindowOpening::from_name(value).ok_or_else(bad)?,
                "probe" => options.probe = parse_choice(value, ["0", "1"]).ok_or_else(bad)?,
                "own" => options.own_markers = parse_choice(value, ["0", "1"]).ok_or_else(bad)?,
                "order" if value == "simulated" => {
                    options.simulation.get_or_insert_default();
                }
                _ => match &mut options.simulation {
                    Some(simulation) => simulation.set(key, value).ok_or_else(bad)?,
                    None => return Err(format!("unknown argument '{key}'")),
                },
            }
        }
        if options.dir.as_os_str().is_empty() && !options.probe {
            return Err("dir= is missing".into());
        }
        Ok(options)
    }
}

/// Returns true for the second of two valid values, and `None` for any other value.
fn parse_choice(value: &str, [no, yes]: [&str; 2]) -> Option<bool> {
    (value == no || value == yes).then_some(value == yes)
}

fn parse_ranges(text: &str) -> Option<Vec<(u64, u64)>> {
    text.split('+')
        .filter(|part| !part.is_empty())
        .map(|part| {
            let (from, to) = part.split_once('-')?;
            Some((
                u64::from_str_radix(from, 16).ok()?,
                u64::from_str_radix(to, 16).ok()?,
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        Options::parse(text.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn reads_what_the_host_writes() {
        let options = parse("dir=/x yield=1000 seed=7 skip=a0-b0+c0-d0 mode=idle own=1").unwrap();
        assert_eq!(options.dir, PathBuf::from("/x"));
        assert_eq!(
            (options.yield_every, options.seed, options.mode),
            (1000, 7, WindowMode::Idle)
        );
        assert_eq!(options.skip, [(0xa0, 0xb0), (0xc0, 0xd0)]);
        assert!(options.own_markers);
    }

    #[test]
    fn all_but_the_folder_has_a_default() {
        let options = parse("dir=/x").unwrap();
        assert_eq!(
            options,
            Options {
                dir: "/x".into(),
                ..Options::default()
            }
        );
        assert!(parse("probe=1").unwrap().probe, "a probe needs no folder");
        assert_eq!(parse("dir=/x bursts=5").unwrap().bursts, Some(5));
        assert_eq!(parse("dir=/a=b").unwrap().dir, PathBuf::from("/a=b"));
        assert_eq!(parse("dir=/x skip=").unwrap().skip, []);
        let window = |text| parse(text).unwrap().window;
        assert_eq!(window("dir=/x"), WindowOpening::Marker);
        assert_eq!(window("dir=/x window=held"), WindowOpening::Held);
        assert_eq!(window("dir=/x window=now"), WindowOpening::Now);
    }

    #[test]
    fn reads_what_qemu_passes() {
        let argv = [c"dir=/x".as_ptr(), c"seed=7".as_ptr()];
        // SAFETY: two valid strings.
        let options = unsafe { Options::from_argv(2, argv.as_ptr()) }.unwrap();
        assert_eq!((options.dir, options.seed), ("/x".into(), 7));
        // SAFETY: no string is read.
        assert!(unsafe { Options::from_argv(-1, std::ptr::null()) }.is_err());
    }

    #[test]
    fn refuses_nonsense() {
        for bad in [
            "",
            "dir",
            "dir=/x yield=x",
            "dir=/x skip=1",
            "dir=/x what=1",
            "dir=/x mode=idel",
            "dir=/x own=yes",
            "dir=/x window=later",
            "dir=/x bursts=-1",
            "dir=/x skip=a0-b0-c0",
            "dir=/x seed=18446744073709551616",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
