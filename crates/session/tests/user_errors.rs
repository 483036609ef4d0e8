//! Errors of other crates, as a user sees them.

use std::io;
use std::path::PathBuf;

use relayout_messages::{ErrorCategory, UserError};
use relayout_profile::perf::ImportError;

/// Tests the message, the remedy and the category of an error that comes from another crate.
#[track_caller]
fn check(error: impl Into<UserError>, expect: (&str, Option<&str>, ErrorCategory)) {
    let error = error.into();
    let (message, remedy) = (error.chain_message(), error.chain_remedy());
    assert_eq!((&*message, remedy.as_deref(), error.category()), expect);
}

#[test]
fn remedies_of_causes_come_along() {
    let imported = relayout_record::Error::Perf {
        path: PathBuf::from("perf.data"),
        source: ImportError::NoProcess {
            pid: 7,
            others: "8 and 9".to_owned(),
        },
    };
    check(
        imported,
        (
            "perf.data: no memory sample of process 7",
            Some("there are some of 8 and 9"),
            ErrorCategory::Input,
        ),
    );
    let debug = relayout_files::Error::Debug {
        path: PathBuf::from("a.out"),
        source: relayout_layout::Error::LinkTime,
    };
    check(
        relayout_record::Error::Files(debug),
        (
            "cannot read the debug information of a.out: an object of link-time optimisation (-flto) has no debug \
             information yet",
            Some("give the linked program, or compile with -ffat-lto-objects"),
            ErrorCategory::Input,
        ),
    );
}

#[test]
fn a_full_disk_is_the_environments() {
    let full = relayout_files::cannot("write", "a".as_ref())(io::ErrorKind::StorageFull.into());
    check(
        relayout_record::Error::from(full),
        (
            "cannot write a: no storage space",
            None,
            ErrorCategory::Environment,
        ),
    );
}

#[test]
fn a_failed_boot_is_the_guests() {
    let failed = relayout_record::Error::Guest {
        why: "panicked".to_owned(),
        console: Vec::new(),
    };
    check(
        UserError::input("the kernel with the patch").caused_by(failed),
        (
            "the kernel with the patch: the guest panicked\nlast lines of its console: (nothing)",
            None,
            ErrorCategory::Guest,
        ),
    );
}
