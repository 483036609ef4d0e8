//! From the file name in debug information to a path below a source tree.

/// Paths to try below the top of a source tree for a declaration's file, most specific first.
///
/// Debug information names a file relative to the build (`mm/percpu-internal.h`,
/// `./include/linux/fs.h`) or absolutely, below a directory of the build machine. For the latter
/// each suffix is a candidate. `.` and `..` are resolved by text.
///
/// ```
/// use relayout_patch::source_path_candidates;
/// assert_eq!(source_path_candidates("./include/linux/fs.h"), ["include/linux/fs.h"]);
/// assert_eq!(source_path_candidates("/b/linux/mm/slab.h"), ["b/linux/mm/slab.h", "linux/mm/slab.h", "mm/slab.h", "slab.h"]);
/// ```
pub fn source_path_candidates(decl_file: &str) -> Vec<String> {
    let absolute = decl_file.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    let mut climbed = false;
    for part in decl_file.split('/') {
        match part {
            "" | "." => {}
            ".." => climbed |= parts.pop().is_none(),
            part => parts.push(part),
        }
    }
    let starts = if absolute || climbed {
        parts.len()
    } else {
        parts.len().min(1)
    };
    (0..starts).map(|start| parts[start..].join("/")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(decl_file: &str, expect: &[&str]) {
        assert_eq!(source_path_candidates(decl_file), expect);
    }

    #[test]
    fn dots_are_resolved() {
        check("mm/../mm/./slab.h", &["mm/slab.h"]);
        check(
            "../../linux/mm/slab.h",
            &["linux/mm/slab.h", "mm/slab.h", "slab.h"],
        );
        check(
            "/a/build/../mm/slab.h",
            &["a/mm/slab.h", "mm/slab.h", "slab.h"],
        );
        check("", &[]);
        check("..", &[]);
    }
}
