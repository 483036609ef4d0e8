//! Many recordings as one data set: which members cost most over all of them, since when, and what a layout would save.
//!
//! A data set is a folder, or a prefix in an object store. Each profile adds a Parquet file to each table
//! ([`tables`]), and an entry that lists them ([`entry`]), written last. Queries run over the listed files: in the process
//! by DataFusion, or on a cluster by Ballista ([`engine`]). [`questions`] are queries with a meaning.

pub mod add;
pub mod address;
pub mod answer;
pub mod compact;
pub mod counted;
pub mod data_set;
pub mod day;
pub mod engine;
pub mod entry;
mod error;
pub mod forget;
pub mod questions;
pub mod recording_id;
pub mod rows;
pub mod tables;

pub use error::FleetError;
