//! Candidate paths below a source tree for a file name in debug information.

/// Returns paths to try below the top of a source tree for the file of a declaration, most
/// specific first.
///
/// Debug information names a file relative to the build (`mm/percpu-internal.h`,
/// `./include/linux/fs.h`), with the folder of the build in front
/// (`debian/build/cloud/mm/percpu.c`), or absolutely, on the build machine. Each suffix of such a
/// path is a candidate. The name without a folder is none, unless the path has no folder. `.` and
/// `..` are resolved by text.
///
/// ```
/// use relayout_patch::source_path_candidates;
/// assert_eq!(source_path_candidates("./mm/slab.h"), ["mm/slab.h"]);
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
    let starts = match absolute || climbed {
        true => parts.len(),
        false => parts.len().saturating_sub(1).max(parts.len().min(1)),
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
        check("build/mm/slab.c", &["build/mm/slab.c", "mm/slab.c"]);
        check("slab.c", &["slab.c"]);
        check("", &[]);
        check("..", &[]);
    }
}
