//! Files of a source tree that an edit may reach besides the file with the definition.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;

use rayon::prelude::*;
use relayout_files::{read_regular, source_files};
use relayout_patch::{SourceFiles, SourceText, WantedFiles};

/// Bytes of a file that is read: larger ones are generated tables.
const FILE_BYTES_MAX: u64 = 8 << 20;

/// Files of a tree on disk. Each search of the tree is made once.
pub struct TreeFiles<'a> {
    source: &'a Path,
    is_c_only: bool,
    known: RefCell<BTreeMap<WantedFiles, Vec<SourceText>>>,
}

impl<'a> TreeFiles<'a> {
    pub fn new(source: &'a Path, is_c_only: bool) -> Self {
        Self {
            source,
            is_c_only,
            known: RefCell::default(),
        }
    }

    fn read(&self, wanted: &WantedFiles) -> Vec<SourceText> {
        let finder = { wanted.containing.as_ref() }
            .map(|text| memchr::memmem::Finder::new(text.as_bytes()).into_owned());
        let source = self.source;
        let read_file = |path: &Path| -> Option<SourceText> {
            if std::fs::metadata(path).ok()?.len() > FILE_BYTES_MAX {
                return None;
            }
            let bytes = read_regular(path).ok()?;
            if let Some(finder) = &finder {
                finder.find(&bytes)?;
            }
            let file = path.strip_prefix(source).unwrap_or(path);
            Some(SourceText {
                file: file.to_string_lossy().into_owned(),
                // Whoever changes the file opens it again, and refuses one in another encoding.
                text: String::from_utf8_lossy(&bytes).into_owned(),
            })
        };
        let folder = source.join(&wanted.folder);
        let paths = source_files(&folder, wanted.extensions, wanted.built_folder);
        let files = paths.par_iter().filter_map(|path| read_file(path));
        files.collect()
    }
}

impl SourceFiles for TreeFiles<'_> {
    fn has_file(&self, path: &str) -> bool {
        self.source.join(path).is_file()
    }

    fn is_c_only(&self) -> bool {
        self.is_c_only
    }

    fn read_files(&self, wanted: &WantedFiles) -> Vec<SourceText> {
        let mut known = self.known.borrow_mut();
        let files = { known.entry(wanted.clone()) }.or_insert_with(|| self.read(wanted));
        files.clone()
    }
}
