//! `relayout fleet sql`

use std::io::Read as _;

use relayout_fleet::FleetError;
use relayout_fleet::answer::{AnswerTable, FleetAnswer};

use super::output::{AnswerFormat, QuestionArgs};

/// Run a query over the tables and views of a data set
///
/// `relayout fleet tables` lists them. Queries read, and change nothing.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    pub question: QuestionArgs,
    /// Query in SQL, as DataFusion has it; `-` reads standard input
    pub query: String,
}

/// Runs the command.
///
/// # Errors
/// The data set cannot be read, or the query fails.
pub async fn run(args: &Args) -> Result<(), FleetError> {
    let engine = args.question.open().await?;
    let query = match args.query.as_str() {
        "-" => read_input()?,
        query => query.to_owned(),
    };
    let is_streamed = matches!(
        args.question.output.format,
        AnswerFormat::Csv | AnswerFormat::Parquet
    );
    if is_streamed && args.question.output.html.is_none() {
        return args.question.output.print_rows(&engine, &query).await;
    }
    let answer = FleetAnswer {
        question: format!("sql {query:?}"),
        notes: Vec::new(),
        tables: vec![AnswerTable {
            name: "rows".to_owned(),
            batches: engine.query(&query).await?,
        }],
    };
    args.question.print(&engine, &answer)
}

fn read_input() -> Result<String, FleetError> {
    let mut query = String::new();
    let read = std::io::stdin().read_to_string(&mut query);
    read.map(|_| query).map_err(|source| FleetError::File {
        action: "read",
        path: "standard input".into(),
        source,
    })
}
