//! A file that is cut short while it is mapped.

use std::fs;
use std::path::Path;
use std::process::Command;

use relayout_files::{catch_truncation, map_file};

const FILE_VARIABLE: &str = "RELAYOUT_TEST_FILE";
const EXIT_CODE: u8 = 42;

/// Part of the other test: a process that maps a file, cuts it short, and reads it.
#[test]
fn process_that_reads_a_file_that_is_cut_short() {
    if let Some(path) = std::env::var_os(FILE_VARIABLE) {
        read_while_it_is_cut_short(Path::new(&path));
    }
}

fn read_while_it_is_cut_short(path: &Path) {
    catch_truncation(EXIT_CODE);
    let map = map_file(path).unwrap();
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_len(1).unwrap();
    let sum: u32 = map.iter().map(|&byte| u32::from(byte)).sum();
    unreachable!("read all, and the sum is {sum}");
}

#[test]
fn the_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vm linux");
    fs::write(&path, vec![1; 1 << 20]).unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "process_that_reads_a_file_that_is_cut_short",
            "--nocapture",
        ])
        .env(FILE_VARIABLE, &path);
    let output = command.output().unwrap();
    let expect = format!(
        "relayout: {} was cut short while it was read; try again when it is complete\n",
        path.display()
    );
    assert_eq!(String::from_utf8_lossy(&output.stderr), expect);
    assert_eq!(output.status.code(), Some(EXIT_CODE.into()));
}
