use super::*;
use tempfile::TempDir;

const PATCH: &str = "--- a/x.h\n+++ b/x.h\n@@ -1,2 +1,2 @@\n-int a;\n+int b;\n int c;\n";

struct TreesFixture(TempDir);

impl TreesFixture {
    /// `source/x.h`, and the patch.
    fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(place.path("source/sub")).unwrap();
        fs::create_dir(place.path("folder")).unwrap();
        fs::write(place.path("source/x.h"), "int a;\nint c;\n").unwrap();
        fs::write(place.path("source/sub/x.h"), "int a;\nint c;\n").unwrap();
        fs::write(place.path("patch"), PATCH).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn git(&self, words: &str) {
        let words = ["-c", "user.name=a", "-c", "user.email=a@b"]
            .into_iter()
            .chain(words.split(' '));
        let output = run_git_within(&self.path("source"), words).unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    fn repository(self) -> Self {
        self.git("init -q");
        self.git("add .");
        self.git("commit -q -m x");
        self
    }

    fn make(&self, source: &str) -> Result<SourceTrees, Error> {
        SourceTrees::create(
            &self.path(source),
            &self.path("patch"),
            &self.path("folder"),
        )
    }
}

fn read_text(dir: &Path, name: &str) -> String {
    fs::read_to_string(dir.join(name)).unwrap()
}

#[track_caller]
fn check(trees: &SourceTrees, name: &str) {
    assert_eq!(read_text(&trees.unpatched(), name), "int a;\nint c;\n");
    assert_eq!(read_text(&trees.patched(), name), "int b;\nint c;\n");
}

#[test]
fn of_a_folder() {
    let place = TreesFixture::new();
    check(&place.make("source").unwrap(), "x.h");
}

#[test]
fn of_a_repository() {
    let place = TreesFixture::new().repository();
    fs::write(place.path("source/x.h"), "not committed").unwrap();
    let trees = place.make("source").unwrap();
    check(&trees, "x.h");
    assert!(
        trees.notes[0].contains("not committed"),
        "{:?}",
        trees.notes
    );
    drop(trees);
    assert_eq!(fs::read_dir(place.path("folder")).unwrap().count(), 0);
    let listed = run_git_within(&place.path("source"), ["worktree", "list"]).unwrap();
    assert_eq!(String::from_utf8_lossy(&listed.stdout).lines().count(), 1);
}

/// Paths may be relative to a part of the repository, if they mean nothing at its top.
#[test]
fn of_a_part_of_a_repository() {
    let place = TreesFixture::new();
    fs::remove_file(place.path("source/x.h")).unwrap();
    let place = place.repository();
    check(&place.make("source/sub").unwrap(), "x.h");
}

/// Files that git ignores are copied.
#[test]
fn of_a_folder_that_is_not_committed() {
    let place = TreesFixture::new();
    fs::write(place.path("source/.gitignore"), "sub\n").unwrap();
    let place = place.repository();
    check(&place.make("source/sub").unwrap(), "x.h");
}

#[test]
fn patch_does_not_apply() {
    for place in [TreesFixture::new(), TreesFixture::new().repository()] {
        fs::write(place.path("patch"), PATCH.replace("-int a", "-int z")).unwrap();
        let error = place.make("source").err().unwrap().to_string();
        assert!(error.contains("does not apply to"), "{error}");
        assert!(error.contains("x.h"), "{error}");
        fs::write(place.path("patch"), "no patch").unwrap();
        let error = place.make("source").err().unwrap().to_string();
        assert!(error.contains("No valid patches"), "{error}");
    }
}
