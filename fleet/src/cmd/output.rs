//! Answers on standard output and in files.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::csv::WriterBuilder;
use futures::StreamExt as _;
use parquet::arrow::ArrowWriter;
use relayout_fleet::FleetError;
use relayout_fleet::answer::FleetAnswer;
use relayout_fleet::data_set::DataSet;
use relayout_fleet::day::Day;
use relayout_fleet::engine::{EngineSettings, MEMORY_DEFAULT, QueryEngine};
use relayout_fleet::questions::RecordingSelection;
use relayout_fleet::rows::writer_properties;
use relayout_messages::ProblemReason;
use relayout_report::documents::fleet::FleetDocument;
use relayout_report::text::fleet::fleet_text;
use relayout_report::{Document as _, escape_text, page};
use relayout_temporary::{PARTIAL_PREFIX, TemporaryFile, parent_folder};

/// Permissions of a new file, less the user's mask.
const FILE_MODE: u32 = 0o666;

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum AnswerFormat {
    /// Text
    Table,
    /// Rows of the first table
    Csv,
    /// Document (schema relayout/fleet/1)
    Json,
    /// Rows of the first table, as a file
    Parquet,
}

/// Engine of a question.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Where it runs")]
pub struct EngineArgs {
    /// Run on the Ballista cluster with this scheduler: df://HOST:50050 [default: in this process]
    #[arg(long, value_name = "URL")]
    pub cluster: Option<String>,
    /// Memory that a query in this process may use, in MB; the rest is spilled to temporary files
    #[arg(long, value_name = "MB", default_value_t = MEMORY_DEFAULT / 1_000_000,
          value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(16..=1_000_000))]
    pub memory: usize,
}

impl EngineArgs {
    /// Returns the settings of the engine.
    pub fn settings(&self) -> EngineSettings {
        EngineSettings {
            memory_bytes: self.memory * 1_000_000,
            cluster: self.cluster.clone(),
            ..EngineSettings::default()
        }
    }
}

/// Recordings to count.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Recordings to count")]
pub struct SelectionArgs {
    /// Those of this workload
    #[arg(long, value_name = "NAME")]
    pub workload: Option<String>,
    /// Those of this release of a kernel, or path of a program; `*` stands for any text
    #[arg(long, value_name = "PATTERN")]
    pub release: Option<String>,
    /// Those of this day and later ones
    #[arg(long, value_name = "DATE")]
    pub since: Option<Day>,
    /// Those before this day
    #[arg(long, value_name = "DATE")]
    pub before: Option<Day>,
    /// Those with this order of accesses: `host`, or a simulated machine as in `sapphire-rapids-2s (pack)`. Needed where
    /// the others leave recordings of several orders
    #[arg(long, value_name = "ORDER")]
    pub order: Option<String>,
}

impl SelectionArgs {
    /// Returns the selection.
    pub fn selection(&self) -> RecordingSelection {
        RecordingSelection {
            workload: self.workload.clone(),
            release: self.release.clone(),
            since: self.since,
            before: self.before,
            order: self.order.clone(),
        }
    }
}

/// A question's data set, with where it runs and how its answer is printed.
#[derive(Debug, clap::Args)]
pub struct QuestionArgs {
    /// Folder or address of the data set
    pub dataset: String,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub engine: EngineArgs,
}

impl QuestionArgs {
    /// Opens the data set for queries.
    ///
    /// # Errors
    /// The output cannot be written, or the data set or the cluster cannot be reached.
    pub async fn open(&self) -> Result<QueryEngine, FleetError> {
        self.output.verify()?;
        let set = DataSet::open(&self.dataset).await?;
        QueryEngine::open(&set, &self.engine.settings()).await
    }

    /// Prints an answer.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn print(&self, engine: &QueryEngine, answer: &FleetAnswer) -> Result<(), FleetError> {
        let document = answer.document(engine.address(), engine.recordings)?;
        self.output.print(&document, answer)
    }
}

/// Form and place of an answer.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Form of the answer
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = AnswerFormat::Table)]
    pub format: AnswerFormat,
    /// Write the answer to this file [default: standard output; Parquet needs a file]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write a page to this file too: one that browsers open without a network
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

impl OutputArgs {
    /// Rejects what cannot be written, before all the work.
    ///
    /// # Errors
    /// Parquet without a file, or a folder in place of a file.
    pub fn verify(&self) -> Result<(), FleetError> {
        if self.format == AnswerFormat::Parquet && self.output.is_none() {
            let reason = ProblemReason::new("--format parquet needs a file");
            return Err(FleetError::Usage(reason.with_remedy("give --output FILE")));
        }
        for file in [&self.output, &self.html].into_iter().flatten() {
            if file.is_dir() {
                let reason = ProblemReason::new(format!("{}: it is a folder", file.display()));
                return Err(FleetError::Usage(reason.with_remedy("give a file")));
            }
        }
        Ok(())
    }

    /// Prints an answer.
    ///
    /// # Errors
    /// A file cannot be written.
    fn print(&self, document: &FleetDocument, answer: &FleetAnswer) -> Result<(), FleetError> {
        if let Some(file) = &self.html {
            let title = format!("relayout fleet {}", answer.question);
            write_file(file, page(&to_json(document)?, &title).as_bytes())?;
        }
        let batches = answer
            .tables
            .first()
            .map_or(&[][..], |table| &table.batches);
        match self.format {
            AnswerFormat::Table => self.write_text(&escape_text(&fleet_text(document))),
            AnswerFormat::Json => self.write_text(&to_json(document)?),
            AnswerFormat::Csv | AnswerFormat::Parquet => {
                let mut output = RowOutput::open(self)?;
                for batch in batches {
                    output.write(batch)?;
                }
                output.finish()
            }
        }
    }

    /// Writes the rows of a query as they come, so that they need not fit into memory.
    ///
    /// # Errors
    /// The query fails, or a file cannot be written.
    pub async fn print_rows(&self, engine: &QueryEngine, query: &str) -> Result<(), FleetError> {
        let mut rows = engine.stream(query).await?;
        let mut output = RowOutput::open(self)?;
        while let Some(batch) = rows.next().await {
            let batch = batch.map_err(|error| engine.query_error(error))?;
            if !output.write(&batch)? {
                return Ok(());
            }
        }
        engine.verify_unchanged().await?;
        output.finish()
    }

    fn write_text(&self, text: &str) -> Result<(), FleetError> {
        match &self.output {
            Some(file) => write_file(file, text.as_bytes()),
            None => {
                let mut output = TextFile::open(None)?;
                output.write(text.as_bytes())?;
                output.finish()
            }
        }
    }
}

fn to_json(document: &FleetDocument) -> Result<String, FleetError> {
    document
        .to_json()
        .map_err(|error| arrow::error::ArrowError::JsonError(error.to_string()).into())
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), FleetError> {
    relayout_files::write_atomically(path, bytes).map_err(|error| FleetError::File {
        action: "write",
        path: path.to_owned(),
        source: io::Error::other(error),
    })
}

fn file_error(path: &Path, source: io::Error) -> FleetError {
    FleetError::File {
        action: "write",
        path: path.to_owned(),
        source,
    }
}

/// Rows that are written as they come.
enum RowOutput<'p> {
    Csv { file: TextFile<'p>, has_head: bool },
    Parquet(Box<ParquetFile<'p>>),
}

impl<'p> RowOutput<'p> {
    fn open(output: &'p OutputArgs) -> Result<Self, FleetError> {
        let path = output.output.as_deref();
        Ok(match output.format {
            AnswerFormat::Parquet => Self::Parquet(Box::new(ParquetFile { path, open: None })),
            _ => Self::Csv {
                file: TextFile::open(path)?,
                has_head: false,
            },
        })
    }

    /// Writes rows; false if nobody reads them any more.
    fn write(&mut self, batch: &RecordBatch) -> Result<bool, FleetError> {
        match self {
            Self::Parquet(file) => file.write(batch).map(|()| true),
            Self::Csv { file, has_head } => {
                let mut bytes = Vec::new();
                let builder = WriterBuilder::new().with_header(!*has_head);
                builder.build(&mut bytes).write(batch)?;
                *has_head = true;
                file.write(&bytes)
            }
        }
    }

    fn finish(self) -> Result<(), FleetError> {
        match self {
            Self::Parquet(file) => file.finish(),
            Self::Csv { file, .. } => file.finish(),
        }
    }
}

/// Text that is written to a file, or to standard output.
struct TextFile<'p> {
    file: Option<PartialFile<'p>>,
}

impl<'p> TextFile<'p> {
    fn open(path: Option<&'p Path>) -> Result<Self, FleetError> {
        Ok(Self {
            file: path.map(PartialFile::create).transpose()?,
        })
    }

    /// Writes bytes; false if nobody reads them any more.
    fn write(&mut self, bytes: &[u8]) -> Result<bool, FleetError> {
        let written = match &self.file {
            Some(file) => file.partial.as_file().write_all(bytes),
            None => io::stdout()
                .write_all(bytes)
                .and_then(|()| io::stdout().flush()),
        };
        match (written, &self.file) {
            (Ok(()), _) => Ok(true),
            (Err(error), None) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
            (Err(error), Some(file)) => Err(file_error(file.target, error)),
            (Err(error), None) => Err(file_error(Path::new("standard output"), error)),
        }
    }

    fn finish(self) -> Result<(), FleetError> {
        match self.file {
            Some(file) => file.keep(),
            None => Ok(()),
        }
    }
}

/// File beside its place, which it takes when it is whole.
struct PartialFile<'p> {
    partial: TemporaryFile,
    target: &'p Path,
}

impl<'p> PartialFile<'p> {
    fn create(target: &'p Path) -> Result<Self, FleetError> {
        let partial = TemporaryFile::create(parent_folder(target), PARTIAL_PREFIX, FILE_MODE);
        Ok(Self {
            partial: partial.map_err(|source| file_error(target, source))?,
            target,
        })
    }

    fn keep(self) -> Result<(), FleetError> {
        let renamed = self.partial.rename_to(self.target);
        renamed.map_err(|source| file_error(self.target, source))
    }
}

/// Rows that are written to a Parquet file, which is opened with the first of them.
struct ParquetFile<'p> {
    path: Option<&'p Path>,
    open: Option<(PartialFile<'p>, ArrowWriter<File>)>,
}

impl ParquetFile<'_> {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), FleetError> {
        if let (None, Some(path)) = (&self.open, self.path) {
            let partial = PartialFile::create(path)?;
            let file = partial.partial.as_file().try_clone();
            let file = file.map_err(|source| file_error(path, source))?;
            let properties = Some(writer_properties());
            self.open = Some((
                partial,
                ArrowWriter::try_new(file, batch.schema(), properties)?,
            ));
        }
        match &mut self.open {
            Some((_, writer)) => Ok(writer.write(batch)?),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<(), FleetError> {
        match self.open {
            Some((partial, writer)) => {
                writer.close()?;
                partial.keep()
            }
            None => Err(FleetError::Usage(
                ProblemReason::new("the query has no rows").with_remedy("no file is written"),
            )),
        }
    }
}
