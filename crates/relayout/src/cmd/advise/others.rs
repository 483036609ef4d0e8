//! What layouts do to other workloads and in other configurations.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use relayout_host::Progress as _;
use relayout_layout::abi::Shape;
use relayout_layout::catalog::{Catalog, Format};
use relayout_search::order::Order;
use relayout_search::{Elsewhere, Given, Options, elsewhere};

use super::{TypeAdvice, advise_on, gather};
use crate::catalog;
use crate::input::{self, Input};

/// A workload or configuration beside the one that was searched.
pub struct Other {
    /// Profile or name of the configuration.
    pub name: String,
    pub kind: Kind,
    /// Its own layout, then those of [`TypeAdvice::listed`]; or why there is nothing to say.
    pub results: Result<Vec<Elsewhere>, String>,
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

impl TypeAdvice<'_> {
    /// The layouts that are shown: the given ones, then candidates.
    pub fn listed(&self, top: usize) -> Vec<Order> {
        let Ok(advice) = &self.outcome else {
            return Vec::new();
        };
        let shown = advice.shown(top);
        let given = self.given.iter().map(|given| given.order.clone());
        let found = shown
            .into_iter()
            .map(|index| Order::of(advice.candidates[index].arrangement.clone()));
        given.chain(found).collect()
    }

    /// The others that the layout at that place of [`listed`](Self::listed) clearly hurts.
    pub fn hurt_by(&self, listed: usize) -> Vec<(&Other, &Elsewhere)> {
        let others = self.others.iter();
        others
            .filter_map(|other| Some((other, other.results.as_ref().ok()?.get(listed + 1)?)))
            .filter(|(_, there)| there.hurts())
            .collect()
    }

    /// Whether a candidate, by index, was scored in all others and hurts none of them.
    pub fn candidate_is_harmless(&self, top: usize, candidate: usize) -> bool {
        let Ok(advice) = &self.outcome else {
            return false;
        };
        // What is not shown was scored in the searched recording only.
        let place = { advice.shown(top).into_iter() }.position(|index| index == candidate);
        let harmless = |place| self.hurt_by(self.given.len() + place).is_empty();
        self.others.is_empty() || place.is_some_and(harmless)
    }
}

/// Adds what the profile at `path` says of the layouts of `all`.
///
/// # Errors
/// A profile that cannot be read.
pub fn add_workload(
    all: &mut [TypeAdvice<'_>],
    path: &Path,
    debug: &[PathBuf],
    top: usize,
) -> anyhow::Result<()> {
    input::with(path, debug, |other, _| {
        for one in all.iter_mut() {
            let results = in_workload(other, one, top).map_err(|why| why.to_string());
            one.others.push(Other {
                name: path.display().to_string(),
                kind: Kind::Workload,
                results,
            });
        }
        Ok(())
    })
}

fn in_workload(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    top: usize,
) -> anyhow::Result<Vec<Elsewhere>> {
    if gather::objects(input, &one.name).is_none() {
        bail!("no object of struct {} is in it", one.name);
    }
    let nothing_sought = Options {
        budget_accesses: 0,
        intervals: 0,
        ..Options::default()
    };
    let orders = one.listed(top);
    let there = advise_on(input, &one.name, &nothing_sought, |shape| {
        let given = orders.iter().map(|order| Given {
            name: String::new(),
            order: order.carry_over(&one.shape, shape),
        });
        Ok(given.collect())
    })?;
    let advice = there.outcome.map_err(|why| anyhow::anyhow!(why))?;
    let layouts = std::iter::once(&advice.current).chain(&advice.given);
    let of = |scored: &relayout_search::Scored| Elsewhere {
        size: scored.layout.size,
        tally: scored.tally,
        interval: scored.interval,
    };
    Ok(layouts.map(of).collect())
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

/// Adds what the layouts of `all` are in each build.
pub fn add_configurations(
    input: &Input<'_>,
    all: &mut [TypeAdvice<'_>],
    builds: &[Build],
    top: usize,
) {
    for (nth, one) in all.iter_mut().enumerate() {
        let orders = one.listed(top);
        let orders: Vec<&Order> = orders.iter().collect();
        let results = |shape: &Result<Shape, String>| {
            let shape = shape.as_ref().map_err(String::clone)?;
            Ok(elsewhere(one.subject(input.line_bytes), shape, &orders))
        };
        let others: Vec<Other> = (builds.iter())
            .map(|build| Other {
                name: build.name.clone(),
                kind: Kind::Configuration,
                results: results(&build.shapes[nth]),
            })
            .collect();
        one.others.extend(others);
    }
}
