//! Two sets of recordings, compared: transfers per operation by type and member, with intervals over
//! the recordings, and the layout change behind each difference.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use relayout_messages::SilentProgress;
//! use relayout_workflows::compare::{ComparedSide, CompareSettings, compare_sides};
//!
//! let read = |path| ComparedSide::read(Path::new(path), &[], &SilentProgress);
//! let settings = CompareSettings::default();
//! let comparison = compare_sides(&read("v1")?, &read("v2")?, &settings, &SilentProgress)?;
//! for workload in &comparison.workloads {
//!     println!("{} {:?}", workload.workload.name, workload.total.judged.verdict);
//! }
//! # Ok::<(), relayout_messages::UserError>(())
//! ```

mod bisect;
mod carried_layouts;
mod causes;
mod profiles;
mod rates;
mod side;
mod subjects;
mod throughput;
mod workload;

pub use bisect::BisectVerdict;
pub use carried_layouts::{CarriedLayouts, CarrySettings};
pub use causes::{ChangeCause, ChangedLayouts, LayoutCause};
pub use profiles::find_profiles;
pub use rates::RateChange;
pub use side::{ComparedSide, SideWorkload, refuse_cut_off, refuse_samples};
pub use subjects::{MemberChange, MemberSide, SubjectChange};
pub use throughput::ThroughputChange;
pub use workload::{
    CompareSettings, ComparedWorkload, RecordingComparison, WorkloadComparison, compare_sides,
};
