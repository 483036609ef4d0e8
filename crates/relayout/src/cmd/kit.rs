//! `relayout verify --export` and `--import`: measuring on another machine.

use std::path::{Path, PathBuf};

use relayout_files::InterruptFlag;
use relayout_measure::ProgramCommand;
use relayout_messages::UserError;
use relayout_report::Document as _;
use relayout_report::documents::kit::kit_result_document;
use relayout_report::documents::verify::contents::VerifyContents;
use relayout_report::text::kit::{kit_result_text, render_export, render_ledger};
use relayout_verify::judge::JudgingRules;
use relayout_verify::judged_change::ChangeVerdict;
use relayout_verify::metric::Metric;
use relayout_workflows::kit::{
    KernelKitRequest, KitEvidence, KitRequest, add_to_ledger, export_kernel_kit, export_kit,
    import_result, read_ledger,
};
use relayout_workflows::verify::ProgramSettings;
use relayout_workflows::verify::kernel::KernelSettings;

use super::document_files::DocumentArgs;
use crate::exit::ExitStatus;
use crate::option_groups::MetricArgs;
use crate::print::{print_note, print_text};
use crate::progress::TerminalProgress;

/// Options of kits.
#[derive(Debug, clap::Args)]
pub struct KitArgs {
    /// Start nothing; pack both builds and the benchmark into this folder, with a script that measures them on
    /// another machine
    #[arg(long, value_name = "KIT", conflicts_with_all = ["load", "save", "fifo", "budget", "all_runs", "time_limit", "import"])]
    pub export: Option<PathBuf>,
    #[command(flatten)]
    evidence: EvidenceArgs,
    /// Judge what the script of a kit measured, beside what was predicted and counted
    #[arg(long, value_name = "RESULT", conflicts_with_all = ["before", "patch", "load", "save", "metric"])]
    import: Option<PathBuf>,
    /// Add the result to this ledger of hits and misses; without --import, show it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["before", "patch", "load"])]
    ledger: Option<PathBuf>,
}

/// What is kept with a kit.
#[derive(Debug, clap::Args)]
struct EvidenceArgs {
    /// Keep with the kit what was counted: recordings of both builds
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"], requires = "export")]
    recorded: Vec<PathBuf>,
    /// Keep with the kit what was predicted: a document that `relayout advise --json` wrote
    #[arg(long, value_name = "FILE", requires = "export")]
    advice: Vec<PathBuf>,
}

impl EvidenceArgs {
    fn read(&self, progress: &TerminalProgress) -> Result<KitEvidence, UserError> {
        let mut evidence = KitEvidence::default();
        for file in &self.advice {
            evidence.predicted.extend(KitEvidence::read_advice(file)?);
        }
        if let [old, new] = self.recorded.as_slice() {
            evidence.counted = KitEvidence::count([old, new], progress)?;
        }
        if self.advice.is_empty() && self.recorded.is_empty() {
            print_note("nothing is kept to hold the result against; see --advice and --recorded");
        }
        Ok(evidence)
    }
}

/// Options of kits with kernels.
#[derive(Debug, clap::Args)]
#[command(mut_arg("metric", |metric| metric.requires("export")))]
pub struct KernelKitArgs {
    /// Boot nothing; pack both kernels into this folder, with a script that measures them on another machine
    #[arg(long, value_name = "KIT", requires = "bench",
        conflicts_with_all = ["also", "all_runs", "budget", "types", "save", "keep", "json"])]
    pub export: Option<PathBuf>,
    /// Run this benchmark there; a program given by its path is packed
    #[arg(long, value_name = "CMD", requires = "export")]
    bench: Option<String>,
    #[command(flatten)]
    metrics: MetricArgs,
    /// Run the benchmark N times in each boot
    #[arg(long, value_name = "N", requires = "export", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    starts: u32,
    #[command(flatten)]
    evidence: EvidenceArgs,
}

impl KernelKitArgs {
    /// Makes the kit.
    ///
    /// # Errors
    /// A kernel does not build, or the folder is there.
    pub fn export_to(
        &self,
        folder: &Path,
        settings: KernelSettings,
    ) -> Result<ExitStatus, UserError> {
        Metric::parse_all(&self.metrics.metric)?;
        let interrupt = InterruptFlag::catch();
        let progress = TerminalProgress::new(String::new());
        let request = KernelKitRequest {
            folder: folder.to_owned(),
            settings,
            bench: ProgramCommand::parse(self.bench.as_deref().unwrap_or_default())?,
            metrics: self.metrics.metric.clone(),
            runs: self.starts,
            evidence: self.evidence.read(&progress)?,
        };
        let kit = progress.finish_after(export_kernel_kit(&request, &progress, interrupt))?;
        print_text(&render_export(&kit))?;
        Ok(ExitStatus::Done)
    }
}

impl KitArgs {
    /// True if nothing is measured here.
    pub fn is_import(&self) -> bool {
        self.import.is_some() || self.ledger.is_some()
    }

    /// Judges the result, and adds it to the ledger.
    ///
    /// # Errors
    /// The result or the ledger cannot be read or written.
    pub fn import(
        &self,
        rules: &JudgingRules,
        json: bool,
        files: &DocumentArgs,
    ) -> Result<ExitStatus, UserError> {
        let Some(result) = &self.import else {
            let entries = self.ledger.as_deref().map(read_ledger).transpose()?;
            print_text(&render_ledger(&entries.unwrap_or_default()))?;
            return Ok(ExitStatus::Done);
        };
        let imported = import_result(result, rules)?;
        let contents = VerifyContents {
            runs: &imported.runs,
            judged: &imported.judged,
            notes: &imported.notes,
        };
        let document = kit_result_document(&imported, &contents);
        files.write_files("relayout verify", || Ok(document.to_json()?))?;
        print_text(&match json {
            true => document.to_json()?,
            false => kit_result_text(&document),
        })?;
        if let Some(ledger) = &self.ledger {
            let entries = add_to_ledger(ledger, &imported.ledger_entries())?;
            if !json {
                print_text(&format!("\n{}", render_ledger(&entries)))?;
            }
        }
        let is_worse = imported.judged.outcome.verdict == ChangeVerdict::Worse;
        Ok(ExitStatus::failed_if(is_worse))
    }

    /// Makes the kit.
    ///
    /// # Errors
    /// The builds fail, or the folder is there.
    pub fn export_to(
        &self,
        folder: &Path,
        settings: ProgramSettings,
        metrics: &[String],
    ) -> Result<ExitStatus, UserError> {
        let interrupt = InterruptFlag::catch();
        let progress = TerminalProgress::new(String::new());
        let request = KitRequest {
            folder: folder.to_owned(),
            settings,
            metrics: metrics.to_vec(),
            evidence: self.evidence.read(&progress)?,
        };
        let kit = progress.finish_after(export_kit(&request, &progress, interrupt))?;
        print_text(&render_export(&kit))?;
        Ok(ExitStatus::Done)
    }
}
