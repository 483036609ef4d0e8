//! Messages for input that `relayout` cannot use: the file, the problem, the remedy; with the
//! right exit code, no output, and no file written.

mod kinds;
mod names;
mod profiles;
mod recording;
mod simulated_programs;
mod types;

use crate::common::{IMAGE_VERSION, Place};

/// A place with a QEMU, a boot image and a vmlinux of one build.
fn kernel() -> Place {
    let place = Place::new();
    place.qemu();
    place.image(IMAGE_VERSION);
    place.vmlinux();
    place
}

/// The command must refuse the value of an option, and name the option.
#[track_caller]
fn refuses_value(place: &Place, command: &str, bad: &str) {
    let ended = place.run_words(&format!("{command} {bad}"));
    let option = bad.split([' ', '=']).next().expect("an option");
    assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{bad}");
    assert!(
        ended.stderr.starts_with("error: ") && ended.stderr.contains(option),
        "{ended:?}"
    );
}
