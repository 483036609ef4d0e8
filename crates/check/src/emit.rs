//! Assertions as C: what `relayout.toml` asserts of a file's types, for those who want it checked by
//! the compiler, in the tree.
//!
//! A compiler checks every build, also those that nobody gave to `relayout check`. So what is emitted
//! claims no more than what was asserted: sections are guarded by their conditions, numbers (sizes,
//! offsets) by the pointer's size of the files in which they were seen; relations hold for both. What
//! C cannot ask becomes a comment with the reason.

mod block;
mod c;
mod groups;
mod guard;
mod head;
mod operand;
mod recorded;
mod rules;
mod text;

use relayout_layout::catalog::Catalog;

pub use c::Form;

use crate::applies::applied;
use crate::select::{self, Fit, Found};
use crate::{Config, Date, Error, Facts, Lock, TypeRules};
use block::{Blocks, Of, Seen};

/// What is emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The text, ending in a line break.
    pub text: String,
    /// Assertions in it.
    pub assertion_count: usize,
    /// Comments in it that say what is not asserted, or not as the kernel would, and why.
    pub note_count: usize,
}

/// Collects what is to be emitted, file by file.
#[derive(Debug)]
pub struct Emitter<'c> {
    config: &'c Config,
    form: Form,
    lock: Option<&'c Lock>,
    blocks: Blocks<'c>,
}

impl<'c> Emitter<'c> {
    /// Begins. Violations that are waived on `today` are not asserted; `lock` is what was recorded.
    pub fn new(config: &'c Config, lock: Option<&'c Lock>, form: Form, today: Date) -> Self {
        Self {
            config,
            form,
            lock,
            blocks: Blocks::new(config, form, today),
        }
    }

    /// Takes what applies to a file and `wanted` picks; `named` are the configurations that the caller
    /// says the file is of.
    ///
    /// # Errors
    /// As those of checking the file.
    pub fn add(
        &mut self,
        facts: &Facts,
        named: &[String],
        catalog: &Catalog<'_>,
        wanted: impl Fn(&TypeRules) -> bool,
    ) -> Result<(), Error> {
        let applied = applied(self.config, named, facts, catalog)?;
        let names = applied.configurations.iter();
        let names: Vec<String> = names.map(|one| one.name.clone()).collect();
        let record = self.lock.and_then(|lock| lock.record(facts, &names));
        for (section, line_bytes) in applied.sections {
            let of = Of {
                facts,
                record,
                line_bytes,
            };
            for rules in section.types.iter().filter(|rules| wanted(rules)) {
                let seen = self.look(catalog, rules, of)?;
                self.blocks.take(section, rules, seen, facts);
            }
        }
        Ok(())
    }

    /// What the file has of the types that the rules mean.
    fn look(
        &self,
        catalog: &Catalog<'_>,
        rules: &TypeRules,
        of: Of<'_>,
    ) -> Result<Vec<Seen>, Error> {
        let entries = select::entries(catalog, &rules.name);
        let declared_in = rules.declared_in.as_ref();
        let looked = catalog.each(&entries, |types, id, entry| {
            let found = select::fits(types, id, entry, &rules.name, declared_in)?;
            let seen = self.blocks.look(types, id, &found, rules, of);
            Some((found, seen))
        });
        let looked = looked.map_err(|source| Error::Layout {
            file: of.facts.path.clone(),
            source,
        })?;
        let looked: Vec<(Found, Seen)> = looked.into_iter().flatten().collect();
        // A typedef of a struct of the same name is the same thing again.
        let fits = looked
            .iter()
            .map(|(found, _)| (found.name.clone(), found.fit));
        let fits: Vec<(String, Fit)> = fits.collect();
        let is_best = |found: &Found| {
            !(fits.iter()).any(|(name, fit)| *name == found.name && *fit > found.fit)
        };
        let best = looked.into_iter().filter(|(found, _)| is_best(found));
        Ok(best.map(|(_, seen)| seen).collect())
    }

    /// The whole. `headers` are included by its text.
    pub fn finish(self, headers: &[String]) -> Emitted {
        let mut text = head::head(self.form, headers, &self.blocks);
        let (body, assertion_count, note_count) = self.blocks.render();
        text.push_str(&body);
        text.push_str(head::tail(self.form));
        Emitted {
            text,
            assertion_count,
            note_count,
        }
    }
}
