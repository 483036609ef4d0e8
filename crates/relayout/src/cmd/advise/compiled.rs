//! Whether a patch compiles in configurations of the kernel, and where the members are then.

use std::path::Path;

use anyhow::Context as _;
use relayout_host::kernel_build::{Builder, Configuration, Object, Watch};
use relayout_host::{Cache, Error, Interrupt};
use relayout_layout::abi::{Layout, Shape};
use relayout_layout::catalog::{Catalog, Format};
use relayout_layout::dwarf::SectionStore;
use relayout_search::Scored;
use relayout_search::order::Order;

use super::patch::Written;
use super::{Args, TypeAdvice, others};
use crate::input::Input;

/// What came of one configuration.
pub struct Compiled {
    /// As `arm:defconfig`.
    pub configuration: String,
    pub result: Judged,
}

/// Whether the patch is good there.
pub enum Judged {
    /// These source files compile, and the struct is laid out as it should be.
    Good {
        units: Vec<String>,
        /// The struct is the recorded one there, and then the one that was scored.
        as_scored: bool,
    },
    /// It cannot be told, and why.
    Unknown(String),
    /// It does not compile, or the struct is another one; with the source file.
    Bad { unit: String, why: String },
}

impl Compiled {
    pub fn is_bad(&self) -> bool {
        matches!(self.result, Judged::Bad { .. })
    }

    /// `x86:allnoconfig: mm/percpu.c compiles; ...`
    pub fn words(&self) -> String {
        let what = &self.configuration;
        match &self.result {
            Judged::Good { units, as_scored } => {
                let verb = if units.len() == 1 {
                    "compiles"
                } else {
                    "compile"
                };
                let layout = match as_scored {
                    true => "the layout is the scored one",
                    false => {
                        "the struct is another one there, and its members are in the order of the patch"
                    }
                };
                format!("{what}: {} {verb}; {layout}", units.join(", "))
            }
            Judged::Unknown(why) => format!("{what}: not judged, {why}"),
            Judged::Bad { unit, why } => format!("{what}: {unit}: {why}"),
        }
    }
}

/// Compiles what includes the patched file in each configuration of `--compile`.
///
/// # Errors
/// No folder for objects, a missing tool, a source that cannot be configured.
pub fn compile(
    args: &Args,
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    written: &Written,
    source: &Path,
) -> anyhow::Result<Vec<Compiled>> {
    let Ok(advice) = &one.outcome else {
        return Ok(Vec::new());
    };
    if args.compile.is_empty() {
        return Ok(Vec::new());
    }
    let cache = Cache::locate().context(
        "there is no folder for what is compiled: set RELAYOUT_CACHE, XDG_CACHE_HOME or HOME",
    )?;
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    let builder = Builder::open(&cache, source, None, jobs).map_err(Error::KernelBuild)?;
    let patch = builder
        .patch_of(&written.diff)
        .map_err(Error::KernelBuild)?;
    let watch = Watch {
        progress: input.progress,
        update: &|_| (),
        interrupt: Interrupt::catch(),
    };
    let candidate = &advice.candidates[written.candidate];
    let compile = |configuration: &Configuration| {
        let objects = builder.compile(&patch, configuration, &written.path, &watch);
        let objects = objects.map_err(Error::KernelBuild)?;
        Ok(Compiled {
            configuration: configuration.to_string(),
            result: judge(one, candidate, &objects)?,
        })
    };
    args.compile.iter().map(compile).collect()
}

fn judge(one: &TypeAdvice<'_>, candidate: &Scored, objects: &[Object]) -> anyhow::Result<Judged> {
    let (mut units, mut all_as_scored) = (Vec::new(), true);
    for object in objects {
        let bad = |why: String| {
            Ok(Judged::Bad {
                unit: object.unit.clone(),
                why,
            })
        };
        let after = match &object.after {
            Ok(after) => after,
            Err(said) => return bad(said.clone()),
        };
        let before = match shape(&object.before, &one.name)? {
            Ok(shape) => shape,
            // It includes the file for something else.
            Err(_) => continue,
        };
        let after = match shape(after, &one.name)? {
            Ok(shape) => shape,
            Err(why) => return bad(why),
        };
        match compare(one, candidate, &before, &after) {
            Ok(as_scored) => all_as_scored &= as_scored,
            Err(why) => return bad(why),
        }
        units.push(object.unit.clone());
    }
    Ok(match units.is_empty() {
        true => Judged::Unknown(format!(
            "no source file was found that compiles there, includes it and has struct {}",
            one.name
        )),
        false => Judged::Good {
            units,
            as_scored: all_as_scored,
        },
    })
}

fn shape(object: &[u8], name: &str) -> anyhow::Result<Result<Shape, String>> {
    let store = SectionStore::default();
    let catalog = Catalog::parse_in(object, &store, Format::Any);
    others::shape(&catalog.context("cannot read what was compiled")?, name)
}

/// Whether `after` is what the candidate makes of `before`; true if that is also the layout that was scored.
fn compare(
    one: &TypeAdvice<'_>,
    candidate: &Scored,
    before: &Shape,
    after: &Shape,
) -> Result<bool, String> {
    let mut arrangement = Order::of(candidate.arrangement.clone())
        .carry_over(&one.shape, before)
        .arrangement;
    let made = places(after, &after.lay_out(&after.current()));
    let expected = places(before, &before.lay_out(&arrangement));
    if made == expected {
        return Ok(made == places(&one.shape, &candidate.layout));
    }
    // The kernel's macros align nothing where there is one CPU only.
    arrangement.align.fill(1);
    arrangement.type_align = 1;
    let unaligned = places(before, &before.lay_out(&arrangement));
    if made == unaligned {
        return Ok(false);
    }
    let differs = made
        .iter()
        .zip(&expected)
        .find(|(made, expected)| made != expected);
    Err(match differs {
        Some(((name, offset), (other, expected))) => {
            format!("'{name}' is at {offset} where '{other}' at {expected} should be")
        }
        None => format!("it has {} members, not {}", made.len(), expected.len()),
    })
}

/// Members with their offsets, in order; then the size.
fn places(shape: &Shape, layout: &Layout) -> Vec<(String, u64)> {
    let mut places: Vec<(String, u64)> = (shape.atoms.iter().zip(&layout.places))
        .map(|(atom, place)| (atom.name.clone(), place.offset))
        .collect();
    places.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    places.push(("the end".to_owned(), layout.size));
    places
}
