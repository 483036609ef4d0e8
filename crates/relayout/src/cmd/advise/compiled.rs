//! Whether a patch compiles in configurations of the kernel, and where the members are then.

use std::path::Path;

use anyhow::Context as _;
use relayout_host::kernel_build::{Builder, Configuration, Object, Watch};
use relayout_host::{Cache, Error, Interrupt};
use relayout_layout::abi::{Arrangement, Layout, Shape};
use relayout_layout::catalog::{Catalog, Format};
use relayout_layout::dwarf::SectionStore;
use relayout_search::Scored;
use relayout_search::order::Order;

use super::patch::Written;
use super::{TypeAdvice, others};
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

/// Compiles what includes patched files.
pub struct Compiler<'a> {
    input: &'a Input<'a>,
    builder: Builder,
}

impl<'a> Compiler<'a> {
    /// Looks at the source.
    ///
    /// # Errors
    /// No folder for objects, a missing tool, a source that is none of a kernel's.
    pub fn open(input: &'a Input<'_>, source: &Path) -> anyhow::Result<Self> {
        let cache = Cache::locate().context(
            "there is no folder for what is compiled: set RELAYOUT_CACHE, XDG_CACHE_HOME or HOME",
        )?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let builder = Builder::open(&cache, source, None, jobs).map_err(Error::KernelBuild)?;
        Ok(Self { input, builder })
    }

    /// Compiles in each configuration.
    ///
    /// # Errors
    /// A missing tool, a source that cannot be configured.
    pub fn compile(
        &self,
        configurations: &[Configuration],
        one: &TypeAdvice<'_>,
        written: &Written,
    ) -> anyhow::Result<Vec<Compiled>> {
        let Some(candidate) = written.scored(one) else {
            return Ok(Vec::new());
        };
        let watch = Watch {
            progress: self.input.progress,
            update: &|_| (),
            interrupt: Interrupt::catch(),
        };
        let compile = |configuration: &Configuration| {
            let objects =
                self.builder
                    .compile(&written.diff, configuration, &written.paths, &watch);
            let objects = objects.map_err(Error::KernelBuild)?;
            Ok(Compiled {
                configuration: configuration.to_string(),
                result: judge(one, candidate, &objects)?,
            })
        };
        configurations.iter().map(compile).collect()
    }
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
        match compare(&one.shape, &candidate.arrangement, &before, &after) {
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

/// Whether `after` is what an arrangement of the recorded type makes of `before`; true if `before` is the
/// recorded one, so that it is also the layout that was scored.
fn compare(
    recorded: &Shape,
    arrangement: &Arrangement,
    before: &Shape,
    after: &Shape,
) -> Result<bool, String> {
    let mut order = Order::of(arrangement.clone()).carry_over(recorded, before);
    let current = |shape: &Shape| places(shape, &shape.lay_out(&shape.current()));
    let made = current(after);
    let expected = places(before, &before.lay_out(&order.arrangement));
    if made == expected {
        return Ok(current(before) == current(recorded));
    }
    // The kernel's macros align nothing where there is one CPU only.
    order.arrangement.align.fill(1);
    order.arrangement.type_align = 1;
    if made == places(before, &before.lay_out(&order.arrangement)) {
        return Ok(false);
    }
    let mut pairs = made.iter().zip(&expected);
    Err(match pairs.find(|(made, expected)| made != expected) {
        Some(((name, offset), (other, expected))) => {
            format!("'{name}' is at {offset}, and '{other}' should be at {expected}")
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

#[cfg(test)]
mod tests {
    use relayout_layout::abi::Abi;
    use relayout_layout::{Aggregate, Member, Type, Types};

    use super::*;

    fn shape(members: &[(&str, u64)], align: &[(&str, u64)]) -> Shape {
        let mut types = Types::default();
        let long = types.add(Type::Base {
            name: "long".to_owned(),
            size: 8,
        });
        let member = |&(name, offset): &(&str, u64)| Member {
            name: Some(name.to_owned()),
            ty: long,
            offset,
            bits: None,
            declared_align: { align.iter() }
                .find(|(of, _)| *of == name)
                .map(|(_, align)| *align),
            decl: None,
        };
        let end = members.iter().map(|(_, offset)| offset + 8).max();
        let most = align.iter().map(|(_, align)| *align).max().unwrap_or(8);
        let aggregate = Aggregate {
            name: Some("s".to_owned()),
            size: end.unwrap_or(0).next_multiple_of(most),
            members: members.iter().map(member).collect(),
            complete: true,
            ..Aggregate::default()
        };
        Abi::new(&types).shape(&aggregate).expect("a struct")
    }

    /// `b` to the front, and `c` to a line of its own.
    fn arrangement(of: &Shape) -> Arrangement {
        let mut arrangement = of.current();
        arrangement.order = vec![1, 0, 2];
        arrangement.align[2] = 64;
        arrangement
    }

    #[test]
    fn layouts_are_compared() {
        let recorded = shape(&[("a", 0), ("b", 8), ("c", 16)], &[]);
        let check = |before: &Shape, after: &Shape, expect: Result<bool, &str>| {
            let result = compare(&recorded, &arrangement(&recorded), before, after);
            assert_eq!(result, expect.map_err(str::to_owned));
        };
        let good = shape(&[("b", 0), ("a", 8), ("c", 64)], &[("c", 64)]);
        check(&recorded, &good, Ok(true));
        // A configuration with another member, and one in which the macro is empty.
        let other = shape(&[("a", 0), ("x", 8), ("b", 16), ("c", 24)], &[]);
        let other_good = shape(&[("b", 0), ("a", 8), ("x", 16), ("c", 64)], &[("c", 64)]);
        check(&other, &other_good, Ok(false));
        let unaligned = shape(&[("b", 0), ("a", 8), ("c", 16)], &[]);
        check(&recorded, &unaligned, Ok(false));
        check(
            &recorded,
            &recorded,
            Err("'a' is at 0, and 'b' should be at 0"),
        );
        check(
            &recorded,
            &other,
            Err("'a' is at 0, and 'b' should be at 0"),
        );
    }
}
