//! Text of an updated lock file.

use relayout_check::{LockRecord, RecordedType};
use relayout_session::check::UpdatedLock;

use crate::words::counted;

/// Renders the hot types of each recorded file, and the path of the lock file.
pub fn render_lock_update(update: &UpdatedLock) -> String {
    let mut text: String = update.files.iter().map(record_text).collect();
    text.push_str(&format!("written to {}\n", update.path.display()));
    text
}

/// `vmlinux: 12 types with 80 hot members, shown by mmap1`
fn record_text(record: &LockRecord) -> String {
    let hot: Vec<&RecordedType> = { record.types.iter() }
        .filter(|recorded| !recorded.hot.is_empty())
        .collect();
    let members: usize = hot.iter().map(|recorded| recorded.hot.len()).sum();
    let shown_by = match &record.profile {
        Some(profile) => format!(", shown by {}", profile.workload),
        None => String::new(),
    };
    let types = counted(hot.len() as u64, "type");
    let types_text: String = hot.iter().map(|recorded| type_text(recorded)).collect();
    format!(
        "{}: {types} with {}{shown_by}\n{types_text}",
        record.file,
        counted(members as u64, "hot member"),
    )
}

fn type_text(recorded: &RecordedType) -> String {
    let mut lines: Vec<u64> = { recorded.hot.iter() }
        .map(|member| recorded.line_of(member.offset))
        .collect();
    lines.dedup();
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let (name, count) = (&recorded.layout.name, recorded.hot.len());
    format!("  {name:<32} {count:>3} on lines {}\n", lines.join(", "))
}
