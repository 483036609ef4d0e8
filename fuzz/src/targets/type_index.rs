use std::sync::Mutex;

use relayout_layout::dwarf::{CompanionFiles, DwarfFile, SectionStore};

use super::types::use_file;
use crate::seeds;

/// Any bytes as the index of type names that was kept of a program: refused or taken, and what was taken is a wrong
/// answer at worst.
pub fn type_index(data: &[u8]) {
    let index = KeptTypeIndex::new(data);
    index.read(|file| {
        for name in ["everything", "", "no such type"] {
            file.find_types(name);
        }
        use_file(file, seeds::kept_program());
    });
}

/// Returns the index that is kept of the program.
pub fn type_index_content() -> Vec<u8> {
    let index = KeptTypeIndex::new(&[]);
    index.read(|_| ());
    index.written().expect("no index was given")
}

/// Tells whether an index was taken as that of the program.
pub fn takes_type_index(data: &[u8]) -> bool {
    let index = KeptTypeIndex::new(data);
    index.read(|_| ());
    index.written().is_none()
}

/// Index of type names in a cache.
struct KeptTypeIndex<'d> {
    data: &'d [u8],
    /// Index that the reader made because the kept one was none.
    written: Mutex<Option<Vec<u8>>>,
}

impl<'d> KeptTypeIndex<'d> {
    fn new(data: &'d [u8]) -> Self {
        Self {
            data,
            written: Mutex::default(),
        }
    }

    fn read(&self, then: impl FnOnce(&DwarfFile<'_>)) {
        let store = SectionStore::default();
        let file = DwarfFile::parse_with_companions(seeds::kept_program(), &store, self);
        then(&file.expect("the compiler's own file"));
    }

    fn written(self) -> Option<Vec<u8>> {
        self.written.into_inner().expect("no writer panicked")
    }
}

impl CompanionFiles for KeptTypeIndex<'_> {
    fn type_index(&self) -> Option<&[u8]> {
        Some(self.data)
    }

    fn keep_type_index(&self, write: &dyn Fn() -> Vec<u8>) {
        *self.written.lock().expect("no writer panicked") = Some(write());
    }
}
