//! Texts: rules, lock files, compilation databases.

use super::HostileCase;

fn case(name: &'static str, text: impl Into<String>) -> HostileCase {
    (name, text.into().into_bytes())
}

/// `relayout.toml`
pub(super) fn configurations() -> Vec<HostileCase> {
    let ty = |rules: &str| format!("[[type]]\nname = \"everything\"\n{rules}\n");
    vec![
        case("nested-lists", format!("a = {}", "[".repeat(100_000))),
        case("nested-tables", format!("[{}a]", "a.".repeat(10_000))),
        case("nested-inline", format!("a = {}", "{a = ".repeat(50_000))),
        case(
            "stars",
            format!("[[type]]\nname = \"{}b\"\nsize_max = 1\n", "*a".repeat(40)),
        ),
        case(
            "stars-in-members",
            ty(&format!(
                "same_line = [[\"{}\", \"first\"]]",
                "*e".repeat(60)
            )),
        ),
        case(
            "all-members",
            ty(
                "same_line = [[\"**\", \"*\"]]\ndifferent_lines = [[\"*\", \"*\"]]\nno_straddle = [\"**\"]",
            ),
        ),
        case("numbers", ty("size_max = 18446744073709551615")),
        case("negative", ty("size_max = -1")),
        case("offsets", ty("[type.offsets]\nfirst = 9223372036854775807")),
        case(
            "line-bytes",
            format!("[defaults]\ncacheline_size = 0\n{}", ty("size_max = 1")),
        ),
        case(
            "many-types",
            "[[type]]\nname = \"*\"\nsize_max = 1\n".repeat(300),
        ),
        case(
            "many-names",
            format!("[[type]]\nname = \"{}\"\n", "x".repeat(100_000)),
        ),
        case(
            "waiver",
            "[[waiver]]\ntype = \"*\"\nreason = \"\"\nexpires = 9999-99-99\n",
        ),
        case("not-utf-8", "\u{fffd}\u{202e}\0"),
        case("unclosed", "[[type]\nname = \"\"\"\n"),
    ]
}

/// Lock files.
pub(super) fn locks() -> Vec<HostileCase> {
    vec![
        case("empty", ""),
        case("nested-lists", format!("a = {}", "[".repeat(100_000))),
        case("only-version", "version = 1\n"),
        case("another-version", "version = 18446744073709551615\n"),
        case("negative-version", "version = -1\n"),
        case(
            "records-are-no-tables",
            "version = 1\nfile = [1, 2]\nrecord = 3\n",
        ),
    ]
}

/// Results of kits.
pub(super) fn kit_results() -> Vec<HostileCase> {
    let head = "relayout-kit-result 1\nkit {}\n";
    let result = |rest: &str| format!("{head}{rest}");
    vec![
        case(
            "many-starts",
            result(&"start before pair 0 0 1 2\nend\n".repeat(400)),
        ),
        case(
            "start-in-start",
            result(&"start before pair 0 0 1 2\n".repeat(2)),
        ),
        case(
            "times-beyond-numbers",
            result("start before pair 0 0 -1e308 1e308\ntimes x\ntimes 9e307m9e307s -1m-1s\nend\n"),
        ),
        case("long-line", result(&format!("cpu {}", "x".repeat(10_000)))),
    ]
}

/// `compile_commands.json`
pub(super) fn databases() -> Vec<HostileCase> {
    let entry = |rest: &str| format!("[{{\"directory\": \"/\", \"file\": \"a.c\", {rest}}}]");
    vec![
        case("nested-lists", "[".repeat(100_000)),
        case("nested-objects", "{\"a\":".repeat(100_000)),
        case("no-list", "{}"),
        case("no-command", entry("\"x\": 1")),
        case("empty-command", entry("\"command\": \"\"")),
        case("open-quote", entry("\"command\": \"cc 'a\"")),
        case(
            "many-arguments",
            entry(&format!(
                "\"arguments\": [{}\"a\"]",
                "\"-I\",".repeat(50_000)
            )),
        ),
        case(
            "flag-without-value",
            entry("\"arguments\": [\"cc\", \"-o\"]"),
        ),
        case(
            "launchers",
            entry("\"arguments\": [\"ccache\", \"distcc\"]"),
        ),
        case(
            "dots",
            "[{\"directory\": \"../../..\", \"file\": \"../../../../..\", \"command\": \"cc a.c\"}]",
        ),
        case("surrogate", entry("\"command\": \"\\ud800\"")),
    ]
}
