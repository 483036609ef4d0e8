//! Questions that have a command of their own. Each makes queries and arranges their rows.

mod cells;
mod layout_rows;
mod member_names;
mod pays;
mod selected_recordings;
mod selection;
mod top;
mod trend;
mod trend_steps;
mod version_order;
mod where_used;

pub use pays::{PayingLayouts, score_over_recordings};
pub use selection::RecordingSelection;
pub use top::top_members;
pub use trend::member_trend;
pub use version_order::compare_versions;
pub use where_used::where_used;
