//! Commands that read a profile need a whole one of this format, and its debug file.

use std::fs;

use super::{kernel, refuses_value};
use crate::common::{Place, profile};

/// Commands that read a profile.
const READERS: [&str; 3] = ["report p", "advise p", "what-if p point --layout layout"];

#[test]
fn not_a_profile() {
    let place = Place::new();
    place.write("layout", "x\ntag\ny\n");
    for command in READERS {
        place.refuses(
            command,
            2,
            "relayout: p is not there: `relayout record` writes profiles",
        );
    }
    fs::create_dir(place.path("p")).unwrap();
    place.refuses(
        "report p",
        2,
        "relayout: p: not a relayout profile: it has no meta.json; a folder that \
         `relayout record` wrote is needed",
    );
    place.write("p/meta.json", "{}");
    place.refuses(
        "report p",
        2,
        "relayout: p: not a relayout profile: meta.json names no schema (missing field \
         `schema` at line 1 column 2); a folder that `relayout record` wrote is needed",
    );
    place.write("q", "text");
    place.refuses(
        "report q",
        2,
        "relayout: q: not a relayout profile: it is not a folder; a folder that `relayout \
          record` wrote is needed",
    );
}

#[test]
fn damaged_profile() {
    let place = kernel();
    place.write("layout", "x\ntag\ny\n");
    let path = profile::write(&place, "p", &place.path("vmlinux"), "");
    let table = path.join("conflicts.parquet");
    let whole = fs::read(&table).unwrap();
    let (length, cut) = (whole.len(), whole.len() / 2);
    fs::write(&table, &whole[..cut]).unwrap();
    let again = "copy the profile again, or record again";
    let message = format!("conflicts.parquet is truncated: {cut} bytes of {length}; {again}");
    for command in READERS {
        place.refuses(command, 2, &format!("relayout: p: {message}"));
    }
    let mut flipped = whole.clone();
    flipped[cut] ^= 1;
    fs::write(&table, &flipped).unwrap();
    let ended = place.run(&["report", "p"]);
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
    assert!(
        ended
            .stderr
            .starts_with("relayout: p: conflicts.parquet is corrupt: CRC-32 is ")
    );
    assert!(ended.stderr.trim_end().ends_with(again), "{ended:?}");
    fs::remove_file(&table).unwrap();
    let message = format!("table `conflicts` is missing (no conflicts.parquet); {again}");
    place.refuses("report p", 2, &format!("relayout: p: {message}"));
    fs::write(&table, &whole).unwrap();
    assert_eq!(place.run(&["report", "p"]).code, Some(0));
}

#[test]
fn profile_of_a_newer_format() {
    let place = kernel();
    place.write("layout", "x\ntag\ny\n");
    let path = profile::write(&place, "p", &place.path("vmlinux"), "");
    profile::edit_meta(&path, "relayout/profile/2", "relayout/profile/3");
    for command in READERS {
        place.refuses(
            command,
            2,
            "relayout: p: written by a newer relayout (format 3, this one reads 2): upgrade",
        );
    }
}

#[test]
fn debug_file_is_of_another_build_than_the_profile() {
    let place = kernel();
    place.write("layout", "x\ntag\ny\n");
    profile::write(&place, "p", &place.path("vmlinux"), "00112233");
    for command in READERS {
        let before = place.files();
        let ended = place.run_words(command);
        let (head, tail) = ended.stderr.split_once("its build id is ").unwrap();
        assert_eq!(
            head,
            "relayout: [DIR]/vmlinux is of another build than the recording: "
        );
        assert_eq!(
            tail.split_once(',').unwrap().1,
            " the recording's 00112233; give the vmlinux of the recorded build with --debug FILE\n"
        );
        assert_eq!((ended.code, &*ended.stdout), (Some(2), ""));
        assert_eq!(place.files(), before);
    }
}

#[test]
fn debug_file_of_the_profile_cannot_be_used() {
    let place = kernel();
    place.write("layout", "x\ntag\ny\n");
    profile::write(&place, "p", &place.path("gone"), "0011");
    for command in READERS {
        place.refuses(
            command,
            2,
            "relayout: cannot read the debug file [DIR]/gone; give the vmlinux with build id \
             0011 with --debug FILE: No such file or directory (os error 2)",
        );
    }
    place.write("text", "text");
    place.refuses(
        "report p --debug text",
        2,
        "relayout: cannot read the debug information of text: not an ELF file: it starts \
         with bytes 74 65 78 74; a vmlinux, program or object file with debug information \
          is needed",
    );
    profile::write(&place, "q", "".as_ref(), "");
    place.refuses(
        "report q",
        2,
        "relayout: the profile does not say which debug file it was recorded with; give \
         one with --debug FILE",
    );
}

#[test]
fn shares_and_numbers_of_rows() {
    let place = Place::new();
    for (command, bad) in [
        ("report p", "--top=-1"),
        ("report p", "--min-share 101"),
        ("advise p", "--top x"),
    ] {
        refuses_value(&place, command, bad);
    }
}
