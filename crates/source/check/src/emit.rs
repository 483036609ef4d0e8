//! Assertions as C: what `relayout.toml` asserts of a file's types, for those who want it checked by
//! the compiler, in the tree.
//!
//! A compiler checks every build, also those that nobody gave to `relayout check`. So what is emitted
//! claims no more than what was asserted: sections are guarded by their conditions, numbers (sizes,
//! offsets) by the pointer's size of the files in which they were seen; relations hold for both. What
//! C cannot ask becomes a comment with the reason.

mod blocks;
mod expression;
mod groups;
mod guard;
mod head;
mod operand;
mod recorded;
mod rules;
mod text;

use relayout_layout::catalog::TypeCatalog;

pub use expression::EmitForm;

use crate::applicability::applicable_sections;
use crate::select::{self, DefinitionFit, FoundDefinition};
use crate::{CheckConfig, Date, Error, FileFacts, LayoutLock, TypeRules};
use blocks::{AssertionBlocks, DefinitionBlock, DefinitionSource};

/// What is emitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmittedAssertions {
    /// The text, ending in a line break.
    pub text: String,
    /// Assertions in it.
    pub assertion_count: usize,
    /// Comments in it that say what is not asserted, or not as the kernel would, and why.
    pub note_count: usize,
}

/// Collects what is to be emitted, file by file.
#[derive(Debug)]
pub struct AssertionEmitter<'c> {
    config: &'c CheckConfig,
    form: EmitForm,
    lock: Option<&'c LayoutLock>,
    blocks: AssertionBlocks<'c>,
}

impl<'c> AssertionEmitter<'c> {
    /// Begins. Violations that are waived on `today` are not asserted; `lock` is what was recorded.
    pub fn new(
        config: &'c CheckConfig,
        lock: Option<&'c LayoutLock>,
        form: EmitForm,
        today: Date,
    ) -> Self {
        Self {
            config,
            form,
            lock,
            blocks: AssertionBlocks::new(config, form, today),
        }
    }

    /// Takes what applies to a file and `wanted` picks; `named` are the configurations that the caller
    /// says the file is of.
    ///
    /// # Errors
    /// As those of checking the file.
    pub fn add_file(
        &mut self,
        facts: &FileFacts,
        named: &[String],
        catalog: &TypeCatalog<'_>,
        wanted: impl Fn(&TypeRules) -> bool,
    ) -> Result<(), Error> {
        let applied = applicable_sections(self.config, named, facts, catalog)?;
        let names = applied.configurations.iter();
        let names: Vec<String> = names
            .map(|configuration| configuration.name.clone())
            .collect();
        let record = self.lock.and_then(|lock| lock.record(facts, &names));
        for (section, line_bytes) in applied.sections {
            let origin = DefinitionSource {
                facts,
                record,
                line_bytes,
            };
            for rules in section.types.iter().filter(|rules| wanted(rules)) {
                let blocks = self.definition_blocks(catalog, rules, origin)?;
                self.blocks.add_definitions(section, rules, blocks, facts);
            }
        }
        Ok(())
    }

    /// What the file has of the types that the rules mean.
    fn definition_blocks(
        &self,
        catalog: &TypeCatalog<'_>,
        rules: &TypeRules,
        origin: DefinitionSource<'_>,
    ) -> Result<Vec<DefinitionBlock>, Error> {
        let entries = select::candidate_entries(catalog, &rules.name);
        let declared_in = rules.declared_in.as_ref();
        let found_blocks = catalog.map_loaded(&entries, |types, id, entry| {
            let found = select::matching_definition(types, id, entry, &rules.name, declared_in)?;
            let block = self
                .blocks
                .definition_block(types, id, &found, rules, origin);
            Some((found, block))
        });
        let found_blocks = found_blocks.map_err(|source| Error::Layout {
            file: origin.facts.path.clone(),
            source,
        })?;
        let found_blocks: Vec<(FoundDefinition, DefinitionBlock)> =
            found_blocks.into_iter().flatten().collect();
        // A typedef of a struct of the same name is the same thing again.
        let fits = found_blocks
            .iter()
            .map(|(found, _)| (found.name.clone(), found.fit));
        let fits: Vec<(String, DefinitionFit)> = fits.collect();
        let is_best = |found: &FoundDefinition| {
            !(fits.iter()).any(|(name, fit)| *name == found.name && *fit > found.fit)
        };
        let best = found_blocks.into_iter().filter(|(found, _)| is_best(found));
        Ok(best.map(|(_, block)| block).collect())
    }

    /// The whole. `headers` are included by its text.
    pub fn finish(self, headers: &[String]) -> EmittedAssertions {
        let mut text = head::render_head(self.form, headers, &self.blocks);
        let (body, assertion_count, note_count) = self.blocks.render();
        text.push_str(&body);
        text.push_str(head::render_tail(self.form));
        EmittedAssertions {
            text,
            assertion_count,
            note_count,
        }
    }
}
