//! Names and places of arguments that are nearly right: the message says what was meant.

use crate::common::{KERNEL_FLAGS, Place, hot};

/// A kernel whose struct `point` shares a line, and its profile `p`.
fn recorded() -> Place {
    let place = Place::new();
    let source = "struct point { int x; char tag; long y; } origin __attribute__((aligned(64)));";
    place.compile("vmlinux", source, KERNEL_FLAGS);
    hot::write(&place, "p", "vmlinux", "origin", [0, 4]);
    place
}

#[test]
fn report_on_a_type_that_is_not_there() {
    let place = recorded();
    let lists = "(`relayout report PROFILE --top 0` lists those that are contended)";
    let message = format!(
        "relayout: no type or variable of the profile is named `piont`; close: point {lists}"
    );
    place.refuses("report p --type piont", 2, &message);
    let document = format!(
        "{{\"schema\":\"relayout/error/1\",\"message\":\"no type or variable of the profile is named `piont`\",\
         \"hint\":\"close: point {lists}\",\"code\":2}}"
    );
    place.refuses("report p --json --type piont", 2, &document);
    let message = format!(
        "relayout: no type or variable of the profile is named `orgin`; close: origin {lists}"
    );
    place.refuses("report p --type orgin", 2, &message);
    for name in ["point", "origin"] {
        let ended = place.run(&["report", "p", "--type", name]);
        assert_eq!((ended.code, &*ended.stderr), (Some(0), ""), "{name}");
    }
    let ended = place.run(&["report", "p", "--type", "struct point"]);
    assert_eq!((ended.code, &*ended.stderr), (Some(0), ""));
    // A name that is right, and below another limit, is no error.
    assert_eq!(
        place
            .run_words("report p --type point --min-share 100")
            .code,
        Some(0)
    );
}

#[test]
fn arguments_at_the_wrong_place() {
    let place = recorded();
    place.write("perf.data", "PERFILE2.......");
    for (words, message) in [
        (
            "show point vmlinux",
            "point is not there, and the type is a file: the file comes before the types, as in \
             `relayout show vmlinux point`",
        ),
        (
            "show p point",
            "p is a profile and no file with debug information: `relayout report p` reads it, and \
             `relayout diff OLD NEW --profile p` puts its hot types first",
        ),
        (
            "diff vmlinux p",
            "p is a profile and no file with debug information: `relayout report p` reads it, and \
             `relayout diff OLD NEW --profile p` puts its hot types first",
        ),
        (
            "report vmlinux",
            "vmlinux is an ELF file and no profile: `relayout show vmlinux` prints its types, and \
             `relayout record` writes a profile",
        ),
        (
            "report perf.data",
            "perf.data is a recording of perf: `relayout record perf perf.data -o OUT` makes a profile of it",
        ),
        (
            "advise point p",
            "point is no profile, and the type is one: the profile comes before the type, as in \
             `relayout advise p point`",
        ),
        (
            "what-if point p --layout none",
            "point is no profile, and the type is one: the profile comes before the type, as in \
             `relayout what-if p point`",
        ),
    ] {
        place.refuses(words, 2, &format!("relayout: {message}"));
    }
}

/// Mistakes in a layout file are found before the objects are resolved.
#[test]
fn a_member_of_a_layout_file_is_misspelt() {
    let place = recorded();
    for (text, message) in [
        (
            "x\ntga\ny\n",
            "line 2: struct point has no member 'tga'; close: tag",
        ),
        (
            "x\n# a comment\ny\n",
            "these members of struct point are not in the list: tag",
        ),
        (
            "x tag\ny\n",
            "line 1: 'x tag' is more than a member and its alignment; write one member on a line",
        ),
        (
            "struct point {\n\tint x;\n\tchar tga;\n\tlong y;\n};\n",
            "these members of struct point are not in the list: tag; line 3 has 'tga', is 'tag' meant?",
        ),
        (
            "struct point {\n\tint x;\n\tunknown_t tga;\n\tlong y;\n};\n",
            "line 3: 'tga' is new, and the size of its type 'unknown_t' is not known: declare it as an array \
             of char; close: tag",
        ),
    ] {
        place.write("layout", text);
        for command in [
            "what-if p point --layout layout",
            "advise p point --layout layout",
        ] {
            place.refuses(command, 2, &format!("relayout: layout: {message}"));
        }
    }
    assert!(
        !place.path("cache/resolved").exists(),
        "nothing was resolved"
    );
    place.write("layout", "y\nx\ntag\n");
    assert_eq!(
        place.run_words("what-if p point --layout layout").code,
        Some(0)
    );
}

/// The form of a layout file is judged before the profile is read.
#[test]
fn a_layout_file_comes_before_the_profile() {
    let place = Place::new();
    place.write("layout", "x @3\n");
    std::fs::create_dir(place.path("none")).expect("a folder");
    place.refuses(
        "what-if none point --layout layout",
        2,
        "relayout: layout: line 1: '3' is not an alignment; write a power of two up to 4096, as in '@64'",
    );
}

#[test]
fn memory_for_profiles_is_a_number() {
    let place = recorded();
    for (value, message) in [
        (
            "much",
            "relayout: RELAYOUT_PROFILE_GB is 'much': a number of GB above 0 is needed, as in RELAYOUT_PROFILE_GB=8",
        ),
        (
            "0.0000001",
            "relayout: p: sites.parquet is too large to read: with its 1 rows the profile needs 0.00 GB of memory, and at most 0.00 GB are allowed",
        ),
    ] {
        let mut command = place.relayout(&["report", "p"]);
        let ended = place.ended(command.env("RELAYOUT_PROFILE_GB", value));
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
        if value == "much" {
            assert_eq!(ended.stderr.trim_end(), message);
        } else {
            assert!(
                ended.stderr.contains("is too large to read")
                    && ended.stderr.contains("RELAYOUT_PROFILE_GB"),
                "{}",
                ended.stderr
            );
        }
    }
}
