//! Parts of outputs that differ though nothing changed, and that no input can fix. This is the only place that
//! hides anything.
//!
//! 1. The commit and the date of the build, as `relayout --version` prints them.
//! 2. The folder of the command: `doctor` and `cc` name the libraries beside it.
//! 3. Progress lines on standard error, such as `  1.3 s  ranking cache lines`: steps that begin within the first
//!    second have none, so their number depends on the machine's load.

use std::path::Path;
use std::process::Command;

use anyhow::Context as _;

/// Texts of a build, and the words that stand in their place.
#[derive(Debug)]
pub struct OutputMasks {
    replaced: Vec<(Vec<u8>, &'static [u8])>,
}

impl OutputMasks {
    /// Asks a build for its version.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn find(relayout: &Path) -> anyhow::Result<Self> {
        let said = Command::new(relayout)
            .arg("--version")
            .output()
            .with_context(|| relayout.display().to_string())?;
        let folder = relayout.parent().unwrap_or(Path::new("/"));
        Ok(Self::of_version(
            &String::from_utf8_lossy(&said.stdout),
            &folder.display().to_string(),
        ))
    }

    /// `version` is as `relayout 0.1.0 (6977ffdc12 2026-11-29)`.
    fn of_version(version: &str, folder: &str) -> Self {
        let build = version
            .split_once('(')
            .map_or("", |(_, build)| build.trim_end().trim_end_matches(')'));
        let mut words = build.split(' ');
        let mut replaced = vec![(folder.as_bytes().to_vec(), &b"[RELAYOUT-FOLDER]"[..])];
        for masked in [&b"[COMMIT]"[..], &b"[DATE]"[..]] {
            if let Some(word) = words.next().filter(|word| !word.is_empty()) {
                replaced.push((word.as_bytes().to_vec(), masked));
            }
        }
        Self { replaced }
    }

    /// Masks the text of any output.
    pub fn mask(&self, bytes: &[u8]) -> Vec<u8> {
        let replace =
            |bytes: Vec<u8>, (text, masked): &(Vec<u8>, &[u8])| replace_all(&bytes, text, masked);
        self.replaced.iter().fold(bytes.to_vec(), replace)
    }

    /// Masks standard error, which loses its progress lines, too.
    pub fn mask_errors(&self, bytes: &[u8]) -> Vec<u8> {
        let lines = bytes.split_inclusive(|&byte| byte == b'\n');
        let kept: Vec<&[u8]> = lines.filter(|line| !is_progress(line)).collect();
        self.mask(&kept.concat())
    }
}

fn is_progress(line: &[u8]) -> bool {
    let Ok(line) = std::str::from_utf8(line) else {
        return false;
    };
    line.starts_with(' ')
        && line
            .split_once(" s  ")
            .is_some_and(|(seconds, _)| seconds.trim_start().parse::<f64>().is_ok())
}

fn replace_all(bytes: &[u8], text: &[u8], masked: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some(&first) = rest.first() {
        let (part, skipped) = match rest.starts_with(text) {
            true => (masked, text.len()),
            false => (&[first][..], 1),
        };
        replaced.extend_from_slice(part);
        rest = &rest[skipped..];
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::OutputMasks;

    const VERSION: &str = "relayout 0.1.0 (6977ffdc12 2026-11-29)\n";

    #[track_caller]
    fn check(text: &str, expect: &str) {
        let masks = OutputMasks::of_version(VERSION, "/build/release");
        let masked = masks.mask_errors(text.as_bytes());
        assert_eq!(String::from_utf8_lossy(&masked), expect);
    }

    #[test]
    fn builds_differ_in_commit_date_and_folder() {
        check(VERSION, "relayout 0.1.0 ([COMMIT] [DATE])\n");
        check(
            "ok /build/release/librelayout_rt.so\n",
            "ok [RELAYOUT-FOLDER]/librelayout_rt.so\n",
        );
    }

    #[test]
    fn progress_is_left_out() {
        check("  1.0 s  naming objects\nrelayout: no\n", "relayout: no\n");
        check("  took 1.0 s  or so\n", "  took 1.0 s  or so\n");
    }

    #[test]
    fn a_build_without_a_commit_hides_nothing() {
        let masks = OutputMasks::of_version("relayout 0.1.0\n", "/build");
        assert_eq!(masks.mask(b"0.1.0"), b"0.1.0");
    }
}
