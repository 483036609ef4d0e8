//! Emission of C assertions from the rules of `relayout.toml`, for projects that check layouts in
//! the compiler.
//!
//! A compiler checks every build, also builds that `relayout check` never reads. The emitted text
//! therefore claims no more than the rules assert:
//!
//! - Guards express the conditions of the sections.
//! - Claims on sizes and offsets are guarded by the pointer size of the files that showed them.
//! - Claims on the relation of members hold for all pointer sizes.
//! - A rule that C cannot express becomes a comment with the reason.

mod blocks;
mod definition;
mod expression;
mod groups;
mod guard;
mod head;
mod operand;
mod recorded;
mod rules;
mod text;

use relayout_layout::TypeArena;
use relayout_layout::catalog::TypeCatalog;

pub use expression::EmitForm;

use crate::applicability::applicable_sections;
use crate::select::{self, DefinitionFit, FoundDefinition};
use crate::{CheckConfig, Date, Error, FileFacts, LayoutLock, TypeRules};
use blocks::{AssertionBlocks, DefinitionBlock};
use definition::DefinitionSource;

/// Emitted C text with its counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmittedAssertions {
    /// C text that ends with a line break.
    pub text: String,
    /// Number of assertions in the text.
    pub assertion_count: usize,
    /// Number of comments in the text that explain a missing or replaced assertion.
    pub note_count: usize,
}

/// Collects assertions file by file.
#[derive(Debug)]
pub struct AssertionEmitter<'c> {
    config: &'c CheckConfig,
    form: EmitForm,
    lock: Option<&'c LayoutLock>,
    blocks: AssertionBlocks<'c>,
}

impl<'c> AssertionEmitter<'c> {
    /// Creates an empty emitter. The emitter leaves out violations that are waived on `today`.
    /// `lock` holds the recorded layouts.
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

    /// Adds the rules that apply to a file and that `wanted` selects. `named` lists the
    /// configurations that the caller adds.
    ///
    /// # Errors
    /// Returns the same errors as a check of the file.
    pub fn add_file(
        &mut self,
        facts: &FileFacts,
        named: &[String],
        catalog: &TypeCatalog<'_>,
        wanted: impl Fn(&TypeRules) -> bool,
    ) -> Result<(), Error> {
        let applied = applicable_sections(self.config, named, facts, catalog)?;
        let names = applied.configuration_names();
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

    /// Builds the blocks for the definitions in the file that the rules match.
    fn definition_blocks(
        &self,
        catalog: &TypeCatalog<'_>,
        rules: &TypeRules,
        origin: DefinitionSource<'_>,
    ) -> Result<Vec<DefinitionBlock>, Error> {
        let declared_in = rules.declared_in.as_ref();
        let block = |types: &TypeArena, id, found: FoundDefinition| {
            let block = self
                .blocks
                .definition_block(types, id, &found, rules, origin);
            (found, block)
        };
        let file = &origin.facts.path;
        let found_blocks = select::map_definitions(catalog, file, &rules.name, declared_in, block)?;
        // A typedef of a struct with the same name would repeat the assertions.
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

    /// Renders the complete text. The text includes `headers`.
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
