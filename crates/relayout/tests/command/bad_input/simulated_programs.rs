//! `record run` with options of simulated time.

use std::fs;

use crate::common::Place;

const RUN: &str = "record run -o out";

fn place() -> Place {
    let place = Place::new();
    place.compile("program", "int main(void) { return 0; }", &[]);
    place
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

#[test]
fn simulated_time_needs_a_machine() {
    let place = place();
    for option in [
        "--cpus 8",
        "--rule upgrade=1",
        "--placement pack",
        "--simulate 1ms",
        "--after 1s",
    ] {
        let ended = place.run(&words(&format!("{RUN} --with qemu {option} -- ./program")));
        assert_eq!(ended.code, Some(2), "{option}: {ended:?}");
        assert!(
            ended.stderr.contains("--machine <NAME|FILE>"),
            "{option}: {ended:?}"
        );
    }
}

#[test]
fn other_ways_have_no_machine() {
    let place = place();
    place.refuses(
        &format!("{RUN} --with compiled --machine rome-2s -- ./program"),
        2,
        "relayout: --machine executes a program as it is in a guest under QEMU, and --with compiled records it \
         on this machine; give --with qemu in place of --with compiled, or leave out --machine",
    );
    for option in [
        "--slices 0.5",
        "--follow-forks",
        "--yield 10",
        "--counts all",
    ] {
        let ended = place.run(&words(&format!(
            "{RUN} --machine rome-2s {option} -- ./program"
        )));
        assert_eq!(ended.code, Some(2), "{option}: {ended:?}");
        let name = option.split(' ').next().unwrap();
        let refused = format!("'--machine <NAME|FILE>' cannot be used with '{name}");
        assert!(ended.stderr.contains(&refused), "{option}: {ended:?}");
    }
}

#[test]
fn the_program_must_run_in_the_guest() {
    let place = place();
    place.script("script", "./program");
    place.refuses(
        &format!("{RUN} --machine rome-2s -- ./script"),
        2,
        "relayout: cannot record ./script: it is a script, and one program is recorded in simulated time, not what \
         that starts: name the program that runs in the end",
    );
    let mut arm64 = fs::read(place.path("program")).unwrap();
    arm64[18] = 183;
    place.program("arm64", &arm64);
    place.refuses(
        &format!("{RUN} --machine rome-2s -- ./arm64"),
        2,
        "relayout: cannot record ./arm64: it is not an x86-64 program, which is all that can be recorded",
    );
}

#[test]
fn the_kernel_must_be_in_the_cache() {
    let place = place();
    place.refuses(
        &format!("{RUN} --machine rome-2s -- ./program"),
        3,
        "relayout: a kernel for the guest is missing (run scripts/setup.sh to fetch Debian's, or give --kernel)",
    );
}
