//! Queries: in the process by DataFusion, or on a cluster by Ballista. Both plan the same queries over the same files.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use ballista::prelude::{SessionConfigExt as _, SessionContextExt as _};
use datafusion::common::ScalarValue;
use datafusion::datasource::empty::EmptyTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::provider_as_source;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::SQLOptions;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::functions::core::expr_fn::coalesce;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, col, lit};
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::prelude::{DataFrame, SessionConfig, SessionContext};
use relayout_messages::ProblemReason;

use crate::FleetError;
use crate::counted::{CountedEntries, CountedFiles, StoredSizes};
use crate::data_set::DataSet;
use crate::entry::ENTRY_FOLDER;
use crate::recording_id::RecordingId;
use crate::tables::{DataTable, TABLE_VIEWS};

/// Memory of a query in the process, in bytes, unless the user says otherwise. What does not fit is spilled to files.
pub const MEMORY_DEFAULT: usize = 1_200_000_000;

/// Settings of queries.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// Memory of a query in the process, in bytes.
    pub memory_bytes: usize,
    /// Parts of a query that run at once.
    pub threads: usize,
    /// Address of Ballista's scheduler; `None` to run in the process.
    pub cluster: Option<String>,
}

impl Default for EngineSettings {
    fn default() -> Self {
        Self {
            memory_bytes: MEMORY_DEFAULT,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            cluster: None,
        }
    }
}

/// A data set that answers queries.
pub struct QueryEngine {
    context: SessionContext,
    set: DataSet,
    entries: BTreeSet<String>,
    cluster: Option<String>,
    /// Number of recordings that count.
    pub recordings: usize,
}

impl QueryEngine {
    /// Opens the tables and views of a data set. Files with another length than they were written with are found here.
    ///
    /// # Errors
    /// The data set holds nothing or is damaged, or the store or the cluster cannot be reached.
    pub async fn open(set: &DataSet, settings: &EngineSettings) -> Result<Self, FleetError> {
        let counted = CountedEntries::choose(set.read_entries().await?);
        if counted.entries.is_empty() {
            let address = &set.address.given;
            let remedy = format!("`relayout fleet add {address} PROFILE...` adds some");
            let reason = ProblemReason::new(format!("{address} holds no recordings"));
            return Err(FleetError::Usage(reason.with_remedy(remedy)));
        }
        let sizes = StoredSizes::list(set).await?;
        for (entry, _) in &counted.entries {
            sizes.verify(entry)?;
        }
        Self::open_entries(set, &counted, settings).await
    }

    /// Opens the tables and views of some entries, which are not verified.
    ///
    /// # Errors
    /// The cluster cannot be reached.
    pub async fn open_entries(
        set: &DataSet,
        counted: &CountedEntries,
        settings: &EngineSettings,
    ) -> Result<Self, FleetError> {
        let engine = Self {
            context: open_context(settings).await?,
            set: set.clone(),
            entries: { counted.entries.iter() }
                .map(|(entry, _)| entry.path())
                .collect(),
            cluster: settings.cluster.clone(),
            recordings: counted.recordings(),
        };
        let (url, store) = (&set.address.store_url, &set.address.store);
        engine.context.register_object_store(url, Arc::clone(store));
        for table in DataTable::ALL {
            engine.register(set, table, &counted.files(table))?;
        }
        for view in TABLE_VIEWS {
            let plan = engine.context.sql(view.query).await?;
            engine.context.register_table(view.name, plan.into_view())?;
        }
        Ok(engine)
    }

    fn register(
        &self,
        set: &DataSet,
        table: DataTable,
        files: &CountedFiles,
    ) -> Result<(), FleetError> {
        let url = |path: &str| file_place(set, path);
        let whole = { files.whole.iter() }
            .map(|file| url(&file.path))
            .collect::<Result<Vec<_>, _>>()?;
        if whole.is_empty() && files.partial.is_empty() {
            let empty = EmptyTable::new(read_schema(table));
            self.context.register_table(table.name(), Arc::new(empty))?;
            return Ok(());
        }
        let mut parts: Vec<DataFrame> = Vec::new();
        if !whole.is_empty() {
            parts.push(self.read_files(table, whole)?);
        }
        for (file, repeated) in &files.partial {
            let rows = self.read_files(table, vec![url(&file.path)?])?;
            parts.push(rows.filter(is_not_among(repeated))?);
        }
        let mut parts = parts.into_iter();
        if let Some(first) = parts.next() {
            let joined = parts.try_fold(first, DataFrame::union)?;
            self.context
                .register_table(table.name(), joined.into_view())?;
        }
        Ok(())
    }

    /// Returns the rows of files, with values for the columns that those of an older format lack.
    fn read_files(
        &self,
        table: DataTable,
        paths: Vec<ListingTableUrl>,
    ) -> Result<DataFrame, FleetError> {
        let files = provider_as_source(Arc::new(listing(table, paths)?));
        let plan = LogicalPlanBuilder::scan(table.name(), files, None)?.build()?;
        let mut rows = DataFrame::new(self.context.state(), plan);
        for column in table.columns() {
            if let Some(value) = column.older_value {
                let value = lit(ScalarValue::Utf8View(Some(value.to_owned())));
                rows = rows.with_column(column.name, coalesce(vec![col(column.name), value]))?;
            }
        }
        Ok(rows)
    }

    /// Runs a query that reads, and returns its rows.
    ///
    /// # Errors
    /// The text is no query, or one that changes something; or it fails.
    pub async fn query(&self, sql: &str) -> Result<Vec<RecordBatch>, FleetError> {
        let plan = self.plan(sql).await?;
        let rows = plan.collect().await;
        let rows = rows.map_err(|error| self.query_error(error))?;
        self.verify_unchanged().await?;
        Ok(rows)
    }

    /// Returns the address of the data set, as the user gave it.
    pub fn address(&self) -> &str {
        &self.set.address.given
    }

    /// Verifies that no recordings were removed since the data set was opened: their files would have counted as empty.
    ///
    /// # Errors
    /// Some were removed, or the store fails.
    pub async fn verify_unchanged(&self) -> Result<(), FleetError> {
        let listed = self.set.list(ENTRY_FOLDER).await?;
        match self.entries.iter().all(|path| listed.contains_key(path)) {
            true => Ok(()),
            false => {
                let reason = ProblemReason::new(format!(
                    "another command joined or removed recordings of {} meanwhile",
                    self.set.address.given
                ));
                Err(FleetError::Usage(reason.with_remedy("ask again")))
            }
        }
    }

    /// Runs a query that reads, and returns its rows as they come.
    ///
    /// # Errors
    /// Those of [`Self::query`].
    pub async fn stream(&self, sql: &str) -> Result<SendableRecordBatchStream, FleetError> {
        let plan = self.plan(sql).await?;
        plan.execute_stream()
            .await
            .map_err(|error| self.query_error(error))
    }

    async fn plan(&self, sql: &str) -> Result<DataFrame, FleetError> {
        let reads_only = SQLOptions::new()
            .with_allow_ddl(false)
            .with_allow_dml(false)
            .with_allow_statements(false);
        Ok(self.context.sql_with_options(sql, reads_only).await?)
    }

    /// Returns the error of a query: of the cluster, where it ran there.
    pub fn query_error(&self, error: datafusion::error::DataFusionError) -> FleetError {
        match &self.cluster {
            Some(url) => FleetError::Cluster {
                url: url.clone(),
                reason: error.strip_backtrace(),
            },
            None => error.into(),
        }
    }
}

async fn open_context(settings: &EngineSettings) -> Result<SessionContext, FleetError> {
    let Some(url) = &settings.cluster else {
        let config = configured(SessionConfig::new(), settings);
        return Ok(SessionContext::new_with_config_rt(
            config,
            open_runtime(settings)?,
        ));
    };
    let config = configured(SessionConfig::new_with_ballista(), settings);
    let state = SessionStateBuilder::new()
        .with_config(config)
        .with_runtime_env(open_runtime(settings)?)
        .with_default_features()
        .build();
    let context = SessionContext::remote_with_state(url, state).await;
    context.map_err(|error| FleetError::Cluster {
        url: url.clone(),
        reason: error.strip_backtrace(),
    })
}

fn configured(config: SessionConfig, settings: &EngineSettings) -> SessionConfig {
    let mut config = config
        .with_information_schema(true)
        .with_collect_statistics(false)
        .with_target_partitions(settings.threads.max(1));
    config.options_mut().execution.parquet.pushdown_filters = true;
    config
}

fn open_runtime(settings: &EngineSettings) -> Result<Arc<RuntimeEnv>, FleetError> {
    let pool = Arc::new(FairSpillPool::new(settings.memory_bytes));
    Ok(RuntimeEnvBuilder::new()
        .with_memory_pool(pool)
        .build_arc()?)
}

/// Returns the place of a file. DataFusion takes one that is not there for one without rows, so a path that it understands
/// in another way must not pass.
fn file_place(set: &DataSet, path: &str) -> Result<ListingTableUrl, FleetError> {
    let place = ListingTableUrl::parse(set.address.file_url(path))?;
    match *place.prefix() == set.address.path(path) {
        true => Ok(place),
        false => Err(FleetError::Address {
            address: set.address.given.clone(),
            reason: "a character of its name cannot be part of an address".to_owned(),
        }),
    }
}

fn listing(table: DataTable, paths: Vec<ListingTableUrl>) -> Result<ListingTable, FleetError> {
    let options =
        ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension("parquet");
    let config = ListingTableConfig::new_with_multi_paths(paths)
        .with_listing_options(options)
        .with_schema(read_schema(table));
    Ok(ListingTable::try_new(config)?)
}

/// Returns the schema with which files are read: texts are not copied, and columns that files of an older format lack may
/// be null.
fn read_schema(table: DataTable) -> SchemaRef {
    let fields = table.columns().into_iter().map(|column| {
        let kind = match column.kind.data_type() {
            DataType::Utf8 => DataType::Utf8View,
            kind => kind,
        };
        let is_nullable = column.is_nullable || column.older_value.is_some();
        Field::new(column.name, kind, is_nullable)
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}

fn is_not_among(recordings: &BTreeSet<RecordingId>) -> Expr {
    let values = recordings.iter().map(|id| lit(id.to_string())).collect();
    col("recording").in_list(values, true)
}
