//! Constructors of a class in other files of its tree: their lists of initialisers follow the order
//! of the members.

use super::class::{CxxClass, member_names};
use super::construction::{ConstructorHome, MemberOrders, reorder_lists};
use super::scope::enclosing_scopes;
use crate::file_kind::C_EXTENSIONS;
use crate::language::{EditedTree, StructSource};
use crate::printed_cxx::bare_type_name;
use crate::refusal::EditRefusal;
use crate::source_files::{SourceFiles, SourceText, WantedFiles};
use crate::tokenized::TokenizedFile;

/// Returns the files of the tree, other than that of the definition, that have `::Class`.
pub(crate) fn constructor_files(
    tree: &dyn SourceFiles,
    source: StructSource<'_>,
) -> Vec<SourceText> {
    let class = bare_type_name(source.name);
    if class.is_empty() || tree.is_c_only() {
        return Vec::new();
    }
    let mut files = tree.read_files(&WantedFiles {
        folder: String::new(),
        extensions: C_EXTENSIONS,
        built_folder: None,
        containing: Some(format!("::{class}")),
    });
    files.retain(|found| found.file != source.file);
    files
}

/// Returns the edited definition with the files of `others` whose constructors' lists get another
/// order: those that were in the order of the members before.
pub(crate) fn follow_order(
    source: StructSource<'_>,
    definition: String,
    others: &[SourceText],
) -> Result<EditedTree, EditRefusal> {
    let old = TokenizedFile::new(source.file, source.text);
    let new = TokenizedFile::new(source.file, &definition);
    let mut changed = Vec::new();
    for other in others {
        let file = TokenizedFile::new(&other.file, &other.text);
        let text = reorder_other(&old, &new, source.name, &file)?;
        if text != other.text {
            let file = other.file.clone();
            changed.push(SourceText { file, text });
        }
    }
    Ok(EditedTree {
        definition,
        others: changed,
    })
}

fn reorder_other(
    old: &TokenizedFile<'_>,
    new: &TokenizedFile<'_>,
    class_name: &str,
    other: &TokenizedFile<'_>,
) -> Result<String, EditRefusal> {
    let class = CxxClass::find(old, class_name)?;
    let new_class = CxxClass::find(new, class_name)?;
    let scopes = enclosing_scopes(old, class.keyword);
    let orders = MemberOrders {
        before: &member_names(old, &class),
        after: &member_names(new, &new_class),
    };
    let home = ConstructorHome::OtherFile(&scopes);
    reorder_lists(other, &class, home, orders)
}
