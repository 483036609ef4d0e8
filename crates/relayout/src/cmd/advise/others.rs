//! What layouts do to other workloads and in other configurations.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use relayout_host::Progress as _;
use relayout_layout::abi::Shape;
use relayout_layout::catalog::{Catalog, Format};
use relayout_search::order::Order;
use relayout_search::{Advice, Code, Elsewhere, Given, Options, Scored, elsewhere, with_checks};

use super::check::{Statement, Stores};
use super::{TypeAdvice, advise_on, gather};
use crate::catalog;
use crate::identify::Identified;
use crate::input::{self, Input};

/// A workload or configuration beside the one that was searched.
pub struct Other {
    /// Profile or name of the configuration.
    pub name: String,
    pub kind: Kind,
    /// Its own layout, then those of [`Pool::listed`]; or why there is nothing to say.
    pub results: Result<Vec<Elsewhere>, String>,
    /// Of layouts with checks, in another recording: the stores of each statement there.
    pub stores: Vec<Stores>,
}

impl Other {
    /// Its own layout, and that at a place of [`Pool::listed`].
    pub fn results_of(&self, listed: usize) -> Option<(&Elsewhere, &Elsewhere)> {
        let results = self.results.as_ref().ok()?;
        Some((results.first()?, results.get(listed + 1)?))
    }
}

/// What an [`Other`] is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Another recording.
    Workload,
    /// Another build of the type, with the same recording.
    Configuration,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Workload => "workload",
            Self::Configuration => "configuration",
        }
    }
}

/// `NAME=VMLINUX`.
pub fn named_file(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((name, file)) if !name.is_empty() && !file.is_empty() => {
            Ok((name.to_owned(), file.into()))
        }
        _ => Err("write NAME=FILE, as in debug=build-debug/vmlinux".to_owned()),
    }
}

/// The layouts of one search, and what they do elsewhere.
#[derive(Clone, Copy)]
pub struct Pool<'a> {
    /// Before which they have a check.
    pub checked: &'a [Statement],
    pub given: &'a [Given],
    pub advice: &'a Advice,
    pub others: &'a [Other],
}

impl Pool<'_> {
    /// The layouts that are shown: the given ones, then candidates.
    pub fn listed(&self, top: usize) -> Vec<Order> {
        let given = self.given.iter().map(|given| given.order.clone());
        let candidates = &self.advice.candidates;
        let found = { self.advice.shown(top).into_iter() }
            .map(|index| Order::of(candidates[index].arrangement.clone()));
        given.chain(found).collect()
    }

    /// The others that the layout at that place of [`listed`](Self::listed) clearly hurts.
    pub fn hurt_by(&self, listed: usize) -> Vec<&Other> {
        let others = self.others.iter();
        let hurt = |other: &&Other| {
            let results = other.results_of(listed);
            results.is_some_and(|(own, there)| there.hurts(own))
        };
        others.filter(hurt).collect()
    }

    /// Whether a candidate, by index, was scored in all others and hurts none of them.
    pub fn is_harmless(&self, top: usize, candidate: usize) -> bool {
        // What is not shown was scored in the searched recording only.
        let mut shown = self.advice.shown(top).into_iter();
        let place = shown.position(|index| index == candidate);
        let harmless = |place| self.hurt_by(self.given.len() + place).is_empty();
        self.others.is_empty() || place.is_some_and(harmless)
    }
}

/// Adds what the profile at `path` says of the layouts of `all`, which were sought with `options`.
///
/// # Errors
/// A profile that cannot be read.
pub fn add_workload(
    all: &mut [TypeAdvice<'_>],
    path: &Path,
    debug: &[PathBuf],
    top: usize,
    options: &Options,
) -> anyhow::Result<()> {
    input::with(path, debug, |other, images| {
        let identified = Identified::new(other, images);
        for one in all.iter_mut() {
            let there =
                in_workload(other, &identified, one, top, options).map_err(|why| why.to_string());
            let (plain, checked) = match there {
                Ok(there) => (
                    Ok(there.plain),
                    there.checked.map(|(of, all)| (Ok(of), all)),
                ),
                Err(why) => (Err(why.clone()), Some((Err(why), Vec::new()))),
            };
            let other = |results, stores| Other {
                name: path.display().to_string(),
                kind: Kind::Workload,
                results,
                stores,
            };
            one.others.push(other(plain, Vec::new()));
            if let (Some(check), Some((results, stores))) = (&mut one.check, checked) {
                check.others.push(other(results, stores));
            }
        }
        Ok(())
    })
}

/// What the layouts of a type cost in another recording, that of today before them.
struct There {
    plain: Vec<Elsewhere>,
    /// Those with checks, and the stores of each statement.
    checked: Option<(Vec<Elsewhere>, Vec<Stores>)>,
}

fn in_workload(
    input: &Input<'_>,
    identified: &Identified<'_, '_>,
    one: &TypeAdvice<'_>,
    top: usize,
    options: &Options,
) -> anyhow::Result<There> {
    if gather::objects(input, &one.name).is_none() {
        bail!("no object of struct {} is in it", one.name);
    }
    let nothing_sought = Options {
        budget_accesses: 0,
        intervals: 0,
        ..options.clone()
    };
    let mut orders = one.plain().map_or(Vec::new(), |pool| pool.listed(top));
    let plain = orders.len();
    let check = one.check.as_ref();
    orders.extend(check.map_or(Vec::new(), |check| check.pool().listed(top)));
    let there = advise_on(input, &one.name, &nothing_sought, |shape| {
        let given = orders.iter().map(|order| Given {
            name: String::new(),
            order: order.carry_over(&one.shape, shape),
        });
        Ok(given.collect())
    })?;
    let advice = { there.outcome.as_ref() }.map_err(|why| anyhow::anyhow!(why.clone()))?;
    let with_own = |all: &[Scored]| {
        let all = std::iter::once(&advice.current).chain(all);
        all.map(Elsewhere::from).collect::<Vec<Elsewhere>>()
    };
    let (without, alone) = advice.given.split_at(plain);
    let checked = check.map(|check| {
        let (stores, instances) = check.in_recording(&there, identified);
        let Some(instances) = instances else {
            return (with_own(alone), stores);
        };
        let subject = there.subject(input.line_bytes);
        let code = Code::with_checks(subject, &instances);
        let (given, fewer) = (&there.given[plain..], (subject.into(), advice));
        let both = with_checks(code, given, fewer, &nothing_sought).advice;
        (with_own(&both.given), stores)
    });
    Ok(There {
        plain: with_own(without),
        checked,
    })
}

/// A build of another configuration.
pub struct Build {
    name: String,
    /// By type that was asked for: its shape there, or why there is none.
    shapes: Vec<Result<Shape, String>>,
}

impl Build {
    /// Reads what the types of `all` are in the build at `path`.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn read(
        input: &Input<'_>,
        all: &[TypeAdvice<'_>],
        (name, path): &(String, PathBuf),
    ) -> anyhow::Result<Self> {
        input.progress.step(&format!("reading {name}"));
        let shapes = catalog::with_base(path, Format::Any, None, |catalog| {
            all.iter().map(|one| shape(catalog, &one.name)).collect()
        });
        Ok(Self {
            name: name.clone(),
            shapes: shapes.with_context(|| format!("configuration {name}"))?,
        })
    }
}

/// What the struct is in another file; or why it is none there.
///
/// # Errors
/// Debug information that cannot be read.
pub fn shape(catalog: &Catalog<'_>, name: &str) -> anyhow::Result<Result<Shape, String>> {
    let entries = catalog.find(name);
    let loaded = catalog.load(&entries)?;
    let abi = catalog.abi(&loaded.types);
    let found = { loaded.ids.iter() }
        .filter_map(|id| loaded.types.aggregate(*id))
        .find(|aggregate| aggregate.complete);
    let shape = found.map(|aggregate| {
        let flat = abi.flattened(aggregate);
        abi.shape(flat.as_ref().unwrap_or(aggregate))
    });
    Ok(match shape {
        None => Err(format!("it has no struct {name}")),
        Some(shape) => shape.map_err(|why| why.to_string()),
    })
}

/// The type with that index, in the builds that have it.
pub fn shapes(builds: &[Build], nth: usize) -> Vec<Shape> {
    let shapes = builds.iter().map(|build| &build.shapes[nth]);
    shapes.flatten().cloned().collect()
}

/// Adds what the layouts of `all`, which were sought with `options`, are in each build.
pub fn add_configurations(
    input: &Input<'_>,
    all: &mut [TypeAdvice<'_>],
    builds: &[Build],
    top: usize,
    options: &Options,
) {
    for (nth, one) in all.iter_mut().enumerate() {
        let subject = one.subject(input.line_bytes);
        let of = |pool: Pool<'_>, code: Code<'_>| -> Vec<Other> {
            let orders = pool.listed(top);
            let orders: Vec<&Order> = orders.iter().collect();
            let other = |build: &Build| Other {
                name: build.name.clone(),
                kind: Kind::Configuration,
                results: { build.shapes[nth].as_ref() }
                    .map(|shape| elsewhere(code, shape, &orders, options.pair_coefficient))
                    .map_err(String::clone),
                stores: Vec::new(),
            };
            builds.iter().map(other).collect()
        };
        let plain = one.plain().map(|pool| of(pool, subject.into()));
        let checked = { one.check.as_ref() }.map(|check| of(check.pool(), check.code(subject)));
        one.others.extend(plain.into_iter().flatten());
        if let (Some(check), Some(checked)) = (&mut one.check, checked) {
            check.others.extend(checked);
        }
    }
}
