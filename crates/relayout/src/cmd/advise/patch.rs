//! The best candidate as an edit of the source.

mod edits;
mod save;
mod tree;

use std::path::Path;

use relayout_search::{Scored, Verdict};

use super::TypeAdvice;
use super::check::Statement;
use super::compiled::Compiled;
use super::others::Pool;
use crate::input::Input;

pub use save::{Saved, rejected, save, save_script};
use tree::Tree;

/// What became of a patch.
pub enum Outcome {
    /// Written.
    Diff(Written),
    /// Not written, and why (for the first candidate).
    Refused(String),
}

impl Outcome {
    /// Whether it was written and is bad.
    pub fn is_bad(&self) -> bool {
        matches!(self, Self::Diff(written) if written.is_bad())
    }
}

/// In which configurations of the source a patch changes the layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// In all.
    All,
    /// Part of it is about members that are there only in some configurations.
    Partly,
    /// All of it is.
    Some,
}

impl Reach {
    /// Of changes, each of which is about a conditional member, or not.
    fn of(conditional: impl IntoIterator<Item = bool>) -> Self {
        let (mut any, mut all) = (false, true);
        for one in conditional {
            (any, all) = (any | one, all & one);
        }
        match (any, all) {
            (false, _) => Self::All,
            (true, false) => Self::Partly,
            (true, true) => Self::Some,
        }
    }

    /// What a reader of the patch has to know.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Self::All => None,
            Self::Partly => Some(
                "Part of it is about members that are there only in some configurations; in others, only the rest is done.",
            ),
            Self::Some => Some(
                "It is about a member that is there only in some configurations; in others, lines stay as they are.",
            ),
        }
    }
}

/// A candidate as an edit of the source.
pub struct Written {
    /// The candidate that it makes: index into those of [`pool`](Self::pool).
    pub candidate: usize,
    /// Whether it is one with checks before stores.
    pub checked: bool,
    /// The files that it edits, from the top of the tree; the first is the one that it is about.
    pub paths: Vec<String>,
    /// A unified diff.
    pub diff: String,
    /// Where it changes something.
    pub reach: Reach,
    /// Why it does not make the best candidate, if it does not.
    pub instead: Option<String>,
    /// What came of compiling it.
    pub compiled: Vec<Compiled>,
}

impl Written {
    /// What it was chosen from.
    pub fn pool<'a>(&self, one: &'a TypeAdvice<'_>) -> Option<Pool<'a>> {
        match self.checked {
            true => Some(one.check.as_ref()?.pool()),
            false => one.plain(),
        }
    }

    /// The candidate that it makes.
    pub fn scored<'a>(&self, one: &'a TypeAdvice<'_>) -> Option<&'a Scored> {
        self.pool(one)?.advice.candidates.get(self.candidate)
    }

    /// Whether it does not compile somewhere, or not to the layout that it should.
    pub fn is_bad(&self) -> bool {
        self.compiled.iter().any(Compiled::is_bad)
    }
}

/// A patch for the best candidate, with checks before stores where that is clearly better; or else the next
/// that can be edited. `None` where no candidate is left.
pub fn of_best(
    input: &Input<'_>,
    one: &TypeAdvice<'_>,
    source: &Path,
    top: usize,
) -> Option<Outcome> {
    let plain = one.plain()?;
    let tree = Tree::new(input, source);
    let mut instead = None;
    if let Some(check) = one.better_checked() {
        let pool = check.pool();
        // The next best with the checks may be behind the best without them.
        let least = { plain.advice.candidates.first() }.map_or(u64::MAX, Scored::ranked_cost);
        let allowed = |index: usize| {
            let fewer = pool.advice.candidates[index].ranked_cost() < least;
            fewer && pool.is_harmless(top, index)
        };
        match tree.first(one, pool, allowed) {
            Some(Ok(written)) => return Some(Outcome::Diff(written)),
            Some(Err(why)) => instead = Some(why),
            None => instead = hurtful(pool),
        }
    }
    let found = match plain.advice.verdict {
        Verdict::Better => tree.first(one, plain, |index| plain.is_harmless(top, index)),
        _ => None,
    };
    match found {
        Some(Ok(written)) => Some(Outcome::Diff(Written {
            instead: instead.or(written.instead),
            ..written
        })),
        Some(Err(why)) => Some(Outcome::Refused(instead.unwrap_or(why))),
        None if plain.advice.verdict == Verdict::Better => {
            instead.or(hurtful(plain)).map(Outcome::Refused)
        }
        None => instead.map(Outcome::Refused),
    }
}

/// Why none of a pool's candidates is written, if they were scored elsewhere.
fn hurtful(pool: Pool<'_>) -> Option<String> {
    let checks: Vec<String> = pool.checked.iter().map(Statement::words).collect();
    let with = match checks.is_empty() {
        true => String::new(),
        false => format!(" with \"{}\"", checks.join(", ")),
    };
    let others = "hurts another workload or configuration";
    { !pool.others.is_empty() }
        .then(|| format!("each layout{with} that is clearly better {others}"))
}
