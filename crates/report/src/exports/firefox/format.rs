//! Used part of the Firefox Profiler's processed profile format, version 70. The documentation of its columns is
//! `src/types/profile.ts` of the Firefox Profiler, and `docs-developer/CHANGELOG-formats.md` lists the versions.

use serde::Serialize;

/// Version of the processed format. Newer profilers upgrade files of older versions.
pub(super) const PROCESSED_VERSION: u32 = 70;
/// Version of the format inside Firefox, which other programs only have to fill in.
pub(super) const GECKO_VERSION: u32 = 36;

/// Column of an optional value that is null in all rows.
type NullColumn = Vec<Option<u32>>;

#[derive(Serialize)]
pub(super) struct FirefoxProfile {
    pub meta: FirefoxMeta,
    /// Files of code with addresses to look up: none, because frames have names.
    pub libs: [(); 0],
    pub shared: SharedTables,
    pub threads: Vec<FirefoxThread>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FirefoxMeta {
    /// Milliseconds between samples.
    pub interval: f64,
    /// Milliseconds since 1970 at time 0.
    pub start_time: f64,
    pub process_type: u32,
    pub categories: Vec<FirefoxCategory>,
    pub product: String,
    pub stackwalk: u32,
    pub version: u32,
    pub preprocessed_profile_version: u32,
    pub symbolicated: bool,
    pub marker_schema: [(); 0],
    pub uses_only_one_stack_type: bool,
    pub source_code_is_not_on_searchfox: bool,
    pub keep_profile_thread_order: bool,
    pub initial_visible_threads: Vec<usize>,
    pub initial_selected_threads: Vec<usize>,
    pub extra: Vec<ExtraSection>,
}

#[derive(Serialize)]
pub(super) struct FirefoxCategory {
    pub name: &'static str,
    pub color: &'static str,
    pub subcategories: [&'static str; 1],
}

/// Facts that the profiler shows about the recording.
#[derive(Serialize)]
pub(super) struct ExtraSection {
    pub label: &'static str,
    pub entries: Vec<ExtraEntry>,
}

#[derive(Serialize)]
pub(super) struct ExtraEntry {
    pub label: &'static str,
    pub format: &'static str,
    pub value: String,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SharedTables {
    pub stack_table: StackTable,
    pub frame_table: FrameTable,
    pub func_table: FuncTable,
    pub resource_table: ResourceTable,
    pub native_symbols: NativeSymbolTable,
    pub string_array: Vec<String>,
    pub sources: SourceTable,
    pub source_location_table: SourceLocationTable,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct StackTable {
    pub frame: Vec<usize>,
    /// Rows back to the caller; 0 for a root.
    pub prefix_offset: Vec<usize>,
    pub length: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FrameTable {
    pub address: Vec<i32>,
    pub lib: Vec<i32>,
    pub inline_depth: Vec<u32>,
    pub category: Vec<usize>,
    pub subcategory: Vec<u32>,
    pub func: Vec<usize>,
    pub native_symbol: NullColumn,
    #[serde(rename = "innerWindowID")]
    pub inner_window_id: NullColumn,
    pub line: Vec<Option<u32>>,
    pub column: NullColumn,
    pub original_location: NullColumn,
    pub length: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FuncTable {
    pub name: Vec<usize>,
    #[serde(rename = "isJS")]
    pub is_js: Vec<bool>,
    #[serde(rename = "relevantForJS")]
    pub relevant_for_js: Vec<bool>,
    pub resource: Vec<i32>,
    pub source: Vec<Option<usize>>,
    pub line_number: NullColumn,
    pub column_number: NullColumn,
    pub original_location: NullColumn,
    pub length: usize,
}

/// Origins of functions: none.
#[derive(Default, Serialize)]
pub(super) struct ResourceTable {
    pub name: [(); 0],
    pub host: [(); 0],
    #[serde(rename = "type")]
    pub resource_type: [(); 0],
    pub length: usize,
}

/// Symbols at addresses: none.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct NativeSymbolTable {
    pub lib_index: [(); 0],
    pub address: [(); 0],
    pub name: [(); 0],
    pub function_size: [(); 0],
    pub length: usize,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SourceTable {
    pub id: NullColumn,
    pub filename: Vec<usize>,
    pub start_line: Vec<u32>,
    pub start_column: Vec<u32>,
    #[serde(rename = "sourceMapURL")]
    pub source_map_url: NullColumn,
    pub content: NullColumn,
    pub length: usize,
}

/// Positions from source maps: none.
#[derive(Default, Serialize)]
pub(super) struct SourceLocationTable {
    pub source: [(); 0],
    pub line: [(); 0],
    pub column: [(); 0],
    pub length: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FirefoxThread {
    pub process_type: &'static str,
    pub process_name: String,
    pub process_startup_time: f64,
    pub process_shutdown_time: Option<f64>,
    pub register_time: f64,
    pub unregister_time: Option<f64>,
    pub paused_ranges: [(); 0],
    pub name: String,
    pub is_main_thread: bool,
    pub pid: String,
    pub tid: String,
    pub samples: SampleTable,
    pub markers: MarkerTable,
}

#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SampleTable {
    pub stack: Vec<usize>,
    /// Milliseconds.
    pub time: Vec<f64>,
    pub weight: Vec<u32>,
    pub weight_type: &'static str,
    pub length: usize,
}

/// Markers: none.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MarkerTable {
    pub data: [(); 0],
    pub name: [(); 0],
    pub start_time: [(); 0],
    pub end_time: [(); 0],
    pub phase: [(); 0],
    pub category: [(); 0],
    pub length: usize,
}
