//! Words for pages that hold plain data, which has no members: what a direct-map range has as
//! owner.

/// Owner of a page whose content was written to a pipe.
pub const PIPE_CONTENT: &str = "content of a pipe";
/// First words of the owner of a page that has content of a file.
pub const FILE_CONTENT: &str = "page cache";

/// Returns true for a page that has content of a file or of a pipe. No layout is behind it, so
/// there is no member to name.
///
/// ```
/// use relayout_profile::is_plain_content;
///
/// assert!(is_plain_content("page cache of /data/a (tmpfs)"));
/// assert!(is_plain_content("content of a pipe"));
/// assert!(!is_plain_content("page table"));
/// ```
pub fn is_plain_content(owner: &str) -> bool {
    owner == PIPE_CONTENT || owner.starts_with(FILE_CONTENT)
}
