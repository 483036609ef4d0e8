//! Programs that a shell script calls, found by its words: so that a script of the user's finds them in the guest.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::GUEST_PATH;

/// Shells whose scripts are read.
const SHELLS: [&str; 6] = ["sh", "bash", "dash", "ash", "ksh", "zsh"];
/// Characters between the words of a script.
const SEPARATORS: &[u8] = b" \t\r\n;|&()<>{}$`\"'=,";
/// Largest program that comes unasked.
const TOOL_BYTES_MAX: u64 = 32 << 20;

/// Returns true if a shell runs a script with this first line.
pub(super) fn is_shell_script(first_line: &[u8]) -> bool {
    let words = first_line.split(u8::is_ascii_whitespace);
    let names = words.filter_map(|word| Path::new(std::str::from_utf8(word).ok()?).file_name());
    let mut names = names.filter_map(|name| name.to_str());
    names.any(|name| SHELLS.contains(&name))
}

/// Returns the programs of this machine that words of a script name: by a path, or as commands in the guest's `$PATH`.
///
/// A word that is an argument may be the name of a program, too. It brings one more than is needed, which does no harm.
pub(super) fn script_tools(script: &[u8]) -> BTreeSet<PathBuf> {
    let lines = script.split(|byte| *byte == b'\n');
    let code = lines.filter(|line| !line.trim_ascii_start().starts_with(b"#"));
    let words = code.flat_map(|line| line.split(|byte| SEPARATORS.contains(byte)));
    let words: BTreeSet<&str> = { words.filter(|word| !word.is_empty()) }
        .filter_map(|word| std::str::from_utf8(word).ok())
        .collect();
    words.into_iter().filter_map(find_tool).collect()
}

fn find_tool(word: &str) -> Option<PathBuf> {
    if word.contains('/') {
        let path = std::path::absolute(word).ok()?;
        return is_tool(&path).then_some(path);
    }
    let folders = GUEST_PATH.split(':');
    let mut paths = folders.map(|folder| Path::new(folder).join(word));
    paths.find(|path| is_tool(path))
}

fn is_tool(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| {
        let is_executable = found.permissions().mode() & 0o111 != 0;
        found.is_file() && is_executable && found.len() <= TOOL_BYTES_MAX
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_programs_are_found() {
        let script = b"#!/bin/sh\n# awk is not called\nset -e\nfor i in $(seq 3); do ls -l|sort>/dev/null; done\n\
            /usr/bin/env true\n./nothing; nosuchtool\n";
        let tools = script_tools(script);
        let names: Vec<&str> = { tools.iter() }
            .filter_map(|path| path.file_name()?.to_str())
            .collect();
        for name in ["seq", "ls", "sort", "env", "true"] {
            assert!(names.contains(&name), "{name}: {names:?}");
        }
        for name in ["awk", "nosuchtool", "nothing", "null"] {
            assert!(!names.contains(&name), "{name}: {names:?}");
        }
    }

    #[test]
    fn shells_are_known_by_their_names() {
        assert!(is_shell_script(b"/bin/sh"));
        assert!(is_shell_script(b" /usr/bin/env -S bash -e"));
        assert!(!is_shell_script(b"/usr/bin/python3"));
        assert!(!is_shell_script(b"\xff"));
    }
}
