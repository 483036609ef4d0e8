//! Tests with a small source that is built like a kernel's.

use std::cell::RefCell;

use super::*;

/// Enough of a tree for `make allnoconfig` and `make vmlinux bzImage`.
pub(super) fn write_source(dir: &Path) {
    let files = [
        ("Kconfig", ""),
        ("arch/x86/Makefile", ""),
        ("mm/a.h", "struct a {\n\tint kept;\n\tlong moved;\n};\n"),
        ("mm/b.c", "#include \"a.h\"\nstruct a a;\n"),
        ("mm/c.c", "int c;\n"),
        ("Makefile", MAKEFILE),
    ];
    for (name, text) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    std::os::unix::fs::symlink("b.c", dir.join("mm/link")).unwrap();
}

/// `b.o` and `c.o` are counted as they are made.
const MAKEFILE: &str = "\
allnoconfig:
\tgrep -v IPV6 $(KCONFIG_ALLCONFIG) > $(O)/.config
vmlinux: $(O)/vmlinux
$(O)/vmlinux: $(O)/b.o $(O)/c.o
\tcat $^ > $@
$(O)/%.o: mm/%.c mm/a.h
\techo $* >> $(O)/made
\tgcc -g -c -o $@ $<
$(O)/c.o: mm/c.c
\techo c >> $(O)/made
\tgcc -g -c -o $@ $<
bzImage: vmlinux
\tmkdir -p $(O)/arch/x86/boot
\tcp $(O)/vmlinux $(O)/arch/x86/boot/bzImage
";

pub(super) fn patch_text() -> &'static str {
    "--- a/mm/a.h\n+++ b/mm/a.h\n@@ -1,4 +1,4 @@\n struct a {\n-\tint kept;\n \tlong moved;\n+\tint kept;\n };\n"
}

/// Progress that prints nothing.
pub(super) struct Silent;

impl Silent {
    pub(super) fn watch() -> BuildWatch<'static> {
        BuildWatch {
            progress: &Self,
            update: &|_| (),
            interrupt: InterruptFlag::catch(),
        }
    }
}

impl RecordingProgress for Silent {
    fn step(&self, _: &str) {}
    fn window(&self, _: u64, _: u64, _: u64) {}
    fn program(&self, _: u64, _: u64, _: u64) {}
    fn warn(&self, _: &str) {}
}

/// A source, and a builder of it.
pub(super) struct SourceFixture {
    pub dir: tempfile::TempDir,
}

impl SourceFixture {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        write_source(&dir.path().join("source"));
        Self { dir }
    }

    pub fn source(&self) -> PathBuf {
        self.dir.path().join("source")
    }

    fn builder(&self) -> Result<KernelBuilder, Error> {
        let cache = CacheFolder::new(self.dir.path().join("cache"));
        KernelBuilder::open(&cache, &self.source(), None, 1)
    }

    pub fn patch(&self, text: &str, reverse: bool) -> KernelPatch {
        let path = self.dir.path().join("p.patch");
        fs::write(&path, text).unwrap();
        KernelPatch::read(&path, reverse).unwrap()
    }
}

fn made_objects(builder: &KernelBuilder) -> String {
    fs::read_to_string(builder.output_folder().join("made"))
        .unwrap()
        .replace('\n', "")
}

/// The second build compiles only the files that the patch changes. No kernel is built twice.
#[test]
fn two_kernels_of_one_source() {
    let place = SourceFixture::new();
    let builder = place.builder().unwrap();
    let patch = place.patch(patch_text(), false);
    let before = builder.build(None, "one", &Silent::watch()).unwrap();
    assert_eq!(made_objects(&builder), "bc");
    assert!(before.seconds.is_some());
    assert_eq!(
        builder.options_not_taken(&before).unwrap(),
        ["CONFIG_IPV6=y"]
    );
    // Keeps the times of files further apart than their resolution.
    std::thread::sleep(Duration::from_millis(20));
    let after = builder
        .build(Some(&patch), "other", &Silent::watch())
        .unwrap();
    assert_eq!(made_objects(&builder), "bcb");
    let read = |path: &Path| fs::read(path).unwrap();
    assert_ne!(read(&before.debug), read(&after.debug));
    // Also while another one builds.
    let _lock = lock_folder(builder.dir(), &Silent::watch()).unwrap();
    let again = place.builder().unwrap();
    for patch in [None, Some(&patch)] {
        let kept = again.build(patch, "kept", &Silent::watch()).unwrap();
        assert_eq!(kept.seconds, None);
    }
    assert_eq!(made_objects(&again), "bcb");
    assert_eq!(
        read(&before.debug),
        read(&again.build(None, "", &Silent::watch()).unwrap().debug)
    );
}

#[test]
fn a_build_that_fails_says_where() {
    let place = SourceFixture::new();
    fs::write(place.source().join("mm/c.c"), "int c = nonsense;\n").unwrap();
    let builder = place.builder().unwrap();
    let error = builder
        .build(None, "the kernel", &Silent::watch())
        .unwrap_err();
    let text = error.to_string();
    assert!(text.contains("c.c:1:9: error:"), "{text}");
    let Error::Make { log, .. } = error else {
        panic!("{text}");
    };
    assert!(fs::read_to_string(log).unwrap().contains("nonsense"));
}

/// Progress that releases a lock when it hears that somebody waits.
struct LockHolder {
    lock: RefCell<Option<FolderLock>>,
    steps: RefCell<Vec<String>>,
}

impl RecordingProgress for LockHolder {
    fn step(&self, text: &str) {
        self.steps.borrow_mut().push(text.to_owned());
        drop(self.lock.take());
    }
    fn window(&self, _: u64, _: u64, _: u64) {}
    fn program(&self, _: u64, _: u64, _: u64) {}
    fn warn(&self, _: &str) {}
}

#[test]
fn one_waits_for_the_other() {
    let place = SourceFixture::new();
    let builder = place.builder().unwrap();
    let holder = LockHolder {
        lock: RefCell::new(Some(lock_folder(builder.dir(), &Silent::watch()).unwrap())),
        steps: RefCell::default(),
    };
    let watch = BuildWatch {
        progress: &holder,
        ..Silent::watch()
    };
    let built = builder.build(None, "one", &watch).unwrap();
    assert!(built.seconds.is_some());
    let steps = holder.steps.into_inner();
    let waiting = "waiting for another relayout that builds kernels in ";
    assert!(steps[0].starts_with(waiting), "{steps:?}");
    assert!(steps[1].starts_with("building one"), "{steps:?}");
}

#[test]
fn names_what_to_install() {
    let missing = vec!["flex", "gelf.h"];
    let text = Error::Needs { missing }.to_string();
    let expect = "building a kernel needs flex, gelf.h; install: apt-get install flex libelf-dev";
    assert_eq!(text, expect);
}
