use std::time::{Duration, SystemTime};

use super::*;
use crate::kernel_build::tests::{Silent, SourceFixture, patch_text};

impl SourceFixture {
    fn copy(&self, patch: Option<&KernelPatch>) -> Result<PathBuf, Error> {
        let source = self.source();
        let top = self.dir.path().join("top");
        fs::create_dir_all(&top).unwrap();
        let tree = SourceCopy {
            source: &source,
            folder: &top,
        };
        let manifest = SourceManifest::read(&source)?;
        tree.synchronize(&manifest, patch, &Silent::watch())?;
        Ok(tree.dir())
    }
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).unwrap().modified().unwrap()
}

#[test]
fn put_in_and_taken_out_again() {
    let place = SourceFixture::new();
    let before = read(&place.source().join("mm/a.h"));
    let patch = place.patch(patch_text(), false);
    let copy = place.copy(Some(&patch)).unwrap();
    assert!(read(&copy.join("mm/a.h")).contains("long moved;\n\tint kept;"));
    // The user's own is as it was.
    assert_eq!(read(&place.source().join("mm/a.h")), before);
    let untouched = modified(&copy.join("mm/b.c"));
    std::thread::sleep(Duration::from_millis(20));
    let copy = place.copy(None).unwrap();
    assert_eq!(read(&copy.join("mm/a.h")), before);
    assert!(
        modified(&copy.join("mm/a.h")) > untouched,
        "make must see that it changed"
    );
    assert_eq!(
        modified(&copy.join("mm/b.c")),
        untouched,
        "nothing to build again"
    );
}

#[test]
fn in_reverse_where_the_source_has_it() {
    let place = SourceFixture::new();
    let with = place.copy(Some(&place.patch(patch_text(), false))).unwrap();
    fs::copy(with.join("mm/a.h"), place.source().join("mm/a.h")).unwrap();
    let copy = place.copy(Some(&place.patch(patch_text(), true))).unwrap();
    assert!(read(&copy.join("mm/a.h")).contains("int kept;\n\tlong moved;"));
}

#[test]
fn follows_the_source() {
    let place = SourceFixture::new();
    let copy = place.copy(None).unwrap();
    fs::write(place.source().join("mm/b.c"), "/* other */\n").unwrap();
    fs::write(place.source().join("mm/new.c"), "/* new */\n").unwrap();
    fs::remove_file(place.source().join("mm/c.c")).unwrap();
    place.copy(None).unwrap();
    assert_eq!(read(&copy.join("mm/b.c")), "/* other */\n");
    assert!(copy.join("mm/new.c").exists());
    assert!(!copy.join("mm/c.c").exists());
    let link = fs::read_link(copy.join("mm/link")).unwrap();
    assert_eq!(link, Path::new("b.c"));
}

/// A patch that adds a file, which has to go again.
#[test]
fn new_files_go() {
    let place = SourceFixture::new();
    let text = "--- /dev/null\n+++ b/mm/added.h\n@@ -0,0 +1 @@\n+int added;\n";
    let copy = place.copy(Some(&place.patch(text, false))).unwrap();
    assert!(copy.join("mm/added.h").exists());
    place.copy(None).unwrap();
    assert!(!copy.join("mm/added.h").exists());
}

#[track_caller]
fn check_refused(text: &str, reverse: bool, why: &str) {
    let place = SourceFixture::new();
    let error = place.copy(Some(&place.patch(text, reverse))).unwrap_err();
    assert!(error.to_string().contains(why), "{error}");
}

#[test]
fn refused() {
    check_refused(
        &patch_text().replace("int kept", "int other"),
        false,
        "does not apply",
    );
    check_refused(
        patch_text(),
        true,
        "--reverse is for a source that has the patch already",
    );
    check_refused("", false, "does not apply");
}

#[test]
fn sources_that_are_none() {
    #[track_caller]
    fn check(spoil: impl Fn(&Path), why: &str) {
        let place = SourceFixture::new();
        spoil(&place.source());
        let error = place.copy(None).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
    }
    check(
        |dir| fs::remove_file(dir.join("Kconfig")).unwrap(),
        "no Kconfig",
    );
    check(
        |dir| fs::write(dir.join(".config"), "").unwrap(),
        "mrproper",
    );
}
