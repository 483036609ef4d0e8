//! Names that are too long for their place.

use std::borrow::Cow;
use std::path::Path;

/// Mark in the place of what is left out.
const LEFT_OUT: char = '…';

/// Shortens a name to `width` columns: first what is between angle brackets goes, then the middle.
pub(crate) fn fit_name(name: &str, width: usize) -> Cow<'_, str> {
    if name.chars().count() <= width {
        return Cow::Borrowed(name);
    }
    let plain = without_generics(name);
    let characters: Vec<char> = plain.chars().collect();
    if characters.len() <= width {
        return Cow::Owned(plain);
    }
    let kept = width.saturating_sub(1);
    let behind = kept / 2;
    let (before, after) = (
        &characters[..kept - behind],
        &characters[characters.len() - behind..],
    );
    let parts = before.iter().chain([&LEFT_OUT]).chain(after);
    Cow::Owned(parts.collect())
}

/// Replaces the arguments of generic types: `Map<…>` for `Map<u64, Vec<Session>>`. Arrows and operators stay.
fn without_generics(name: &str) -> String {
    let mut short = String::new();
    let mut depth = 0_usize;
    let mut previous = ' ';
    for character in name.chars() {
        let is_arrow = character == '>' && matches!(previous, '-' | '=');
        match character {
            '<' => {
                if depth == 0 {
                    short.push_str("<…>");
                }
                depth += 1;
            }
            '>' if !is_arrow && depth > 0 => depth -= 1,
            _ if depth == 0 => short.push(character),
            _ => {}
        }
        previous = character;
    }
    short
}

/// Returns a command without the folders of its program: `server --port 80` for `/usr/local/bin/server --port 80`.
pub(crate) fn short_command(command: &str) -> String {
    let (program, arguments) = command.split_once(' ').unwrap_or((command, ""));
    let name = Path::new(program).file_name();
    let name = name.map_or(program.into(), |name| name.to_string_lossy());
    match arguments {
        "" => name.into_owned(),
        arguments => format!("{name} {arguments}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_generics_before_their_middle() {
        let check = |name, width, expect| assert_eq!(fit_name(name, width), expect);
        check("dentry +64", 10, "dentry +64");
        check("Shard<u64, Vec<Session>> +64", 12, "Shard<…> +64");
        check("Shard<fn(u8) -> u8>::hits", 16, "Shard<…>::hits");
        check("mem_cgroup_per_node +64", 12, "mem_cg…e +64");
        check("größer als nötig", 9, "größ…ötig");
        check("abc", 0, "…");
    }

    #[test]
    fn commands_lose_folders() {
        assert_eq!(
            short_command("/usr/bin/server --root /srv"),
            "server --root /srv"
        );
        assert_eq!(short_command("stat-one"), "stat-one");
        assert_eq!(short_command("/"), "/");
    }
}
