//! Recordings that end before their time: what was recorded is kept, what was started is gone.

use crate::common::{Ended, names};
use crate::stand::Stand;

/// The profile in `out` can be read, holds something and is marked as cut off.
fn check_cut_off(stand: &Stand, why: &str) {
    let report = stand.report();
    let run = &report["runs"][0];
    assert_eq!(run["complete"], false);
    assert!(run["ended"].as_str().unwrap().contains(why), "{run}");
    assert!(report["transfers_total"].as_u64().unwrap() > 0);
}

const KEPT: &str = "relayout: what was recorded until then is in out\n";

#[test]
fn interrupt_keeps_what_was_recorded() {
    let stand = Stand::new();
    let running = stand.recording();
    running.signal(libc::SIGINT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(
        ended
            .stderr
            .ends_with(&format!("relayout: interrupted\n{KEPT}")),
        "{ended:?}"
    );
    stand.check_clean();
    check_cut_off(&stand, "interrupted");
}

#[track_caller]
fn check_interrupted(ended: &Ended) {
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(
        ended.stderr.ends_with("relayout: interrupted\n"),
        "{ended:?}"
    );
}

#[test]
fn interrupt_while_booting_leaves_nothing() {
    let stand = Stand::new();
    let running = stand.booting();
    running.signal(libc::SIGTERM);
    let ended = running.end();
    check_interrupted(&ended);
    stand.check_clean();
    assert!(!stand.place.path("out").exists());
}

/// A signal that came while QEMU ended was ignored.
#[test]
fn interrupt_while_reading_leaves_nothing() {
    let stand = Stand::new();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let running = stand.reading();
        running.signal(signal);
        let ended = running.end();
        check_interrupted(&ended);
        stand.check_clean();
        let left = names(&stand.place.path(""));
        assert!(!left.iter().any(|name| name.contains("out")), "{left:?}");
    }
}

#[test]
fn killed_relayout_takes_qemu_along() {
    let stand = Stand::new();
    let running = stand.booting();
    running.signal(libc::SIGKILL);
    let ended = running.end();
    assert_eq!(ended.code, None);
    assert!(!stand.place.path("out").exists());
    // Nobody was left to remove the folder; the next recording does.
    assert_eq!(names(&stand.place.path("tmp")).len(), 1);
    let ended = stand.run("record kernel -o out --workload mntns --time-limit 1");
    assert_eq!(ended.code, Some(4), "{ended:?}");
    stand.check_clean();
}

#[test]
fn killed_qemu_keeps_what_was_recorded() {
    let stand = Stand::new();
    let running = stand.recording();
    running.qemu.kill();
    let ended = running.end();
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("the guest ended before its workload was done"),
        "{ended:?}"
    );
    assert!(ended.stderr.ends_with(KEPT), "{ended:?}");
    stand.check_clean();
    check_cut_off(&stand, "ended before its workload was done");
}

#[test]
fn guest_that_panics() {
    let stand = Stand::new();
    let append = ["--append", "rdinit=/nonexistent init=/nonexistent"];
    let mut command = stand.relayout("record kernel -o out --workload mntns");
    let ended = stand.place.ended(command.args(append));
    assert_eq!((ended.code, &*ended.stdout), (Some(4), ""), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("the guest panicked: Kernel panic - not syncing"),
        "{ended:?}"
    );
    stand.check_clean();
    assert!(!stand.place.path("out").exists());
}

#[test]
fn guest_that_takes_too_long() {
    let stand = Stand::new();
    let ended = stand.run("record kernel -o out --workload mntns --time-limit 1");
    assert_eq!((ended.code, &*ended.stdout), (Some(4), ""), "{ended:?}");
    let why = "has not begun its workload after 1 s (see --time-limit)";
    assert!(ended.stderr.contains(why), "{ended:?}");
    stand.check_clean();
    assert!(!stand.place.path("out").exists());
}

/// Timer interrupts are rarely lost under QEMU. Here a program says what the kernel says then.
#[test]
fn guest_that_hangs_in_its_boot_is_booted_again() {
    let stand = Stand::new();
    let said = "rcu: rcu_preempt kthread timer wakeup didn't happen for 5251 jiffies!";
    let body = format!("echo \"<3>{said}\" > /dev/kmsg\nwhile :; do :; done");
    stand.place.script("hang", &body);
    let ended = stand.run("record kernel -o out --run ./hang --after 90s --time-limit 100");
    assert_eq!((ended.code, &*ended.stdout), (Some(4), ""), "{ended:?}");
    let boots = ended.stderr.matches("booting the kernel").count();
    let again = ended
        .stderr
        .matches("a timer interrupt was lost; booting again")
        .count();
    assert_eq!((boots, again), (2, 1), "{ended:?}");
    assert!(
        ended.stderr.contains("failed twice, at last: a timer"),
        "{ended:?}"
    );
    stand.check_clean();
    assert!(!stand.place.path("out").exists());
}

/// A comma separates QEMU's options, and an equals sign its keys and values; the name of a socket has
/// at most 108 bytes.
#[test]
fn folders_with_any_names() {
    let stand = Stand::new();
    let folder = stand.place.path("a,b=c d");
    let long = folder.join("x".repeat(120));
    std::fs::create_dir_all(&long).unwrap();
    let cache = folder.join("cache,");
    std::os::unix::fs::symlink(&stand.cache, &cache).unwrap();
    let plugins = folder.join("plugins,=");
    std::fs::create_dir(&plugins).unwrap();
    let built = std::path::Path::new(env!("CARGO_BIN_EXE_relayout"))
        .parent()
        .unwrap();
    for interface in [1, 4] {
        let name = format!("librelayout_qemu_api{interface}.so");
        std::fs::copy(built.join(&name), plugins.join(&name)).unwrap();
    }
    let mut command = stand.relayout("record kernel -o out --workload mntns --iterations 20");
    command
        .env("TMPDIR", &long)
        .env("RELAYOUT_CACHE", &cache)
        .env("RELAYOUT_PLUGIN_DIR", &plugins);
    let ended = stand.place.ended(&mut command);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stand.report()["runs"][0]["complete"], true);
    assert!(names(&long).is_empty());
}

#[test]
fn qemu_that_refuses_its_arguments() {
    let stand = Stand::new();
    let ended = stand.run("record kernel -o out --workload mntns -- -device nothing");
    assert_eq!((ended.code, &*ended.stdout), (Some(4), ""), "{ended:?}");
    assert!(
        ended.stderr.contains("'nothing' is not a valid device"),
        "{ended:?}"
    );
    stand.check_clean();
}
