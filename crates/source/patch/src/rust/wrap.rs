//! Wraps the type of a field in one that fills cache lines.
//!
//! `hits: AtomicU64` becomes `hits: OwnLine<AtomicU64>` or `hits: CachePadded<AtomicU64>`. Every
//! expression that builds the struct wraps the value. Method calls, fields and elements go through
//! `Deref`, and stay as they are. A use of the whole field by value, by reference or as the target of
//! an assignment gets a `*` or `.0`.
//!
//! Names tell which struct a field belongs to. A use that needs an edit is refused if another struct
//! of the crate has a field of that name.

mod added_type;
mod field_uses;
mod names;

use std::ops::Range;

use proc_macro2::Span;

use super::syntax::{read_tree, with_deep_stack};
use crate::lines::{is_first_on_line, line_ending, line_number, line_start, next_line_start};
use crate::refusal::{EditRefusal, FileLine};
use added_type::AddedType;
use field_uses::FieldUses;
use names::{CrateNames, StructDefinitionTree};

/// Path of the padding type in the crate that has it.
const PADDED_TYPE: &str = "CachePadded";
/// Traits that can be derived for both kinds of wrapper.
const DERIVED_BY_BOTH: [&str; 6] = ["Debug", "Default", "Clone", "Copy", "PartialEq", "Eq"];
/// Further traits that a type of the patch derives where the struct does.
const DERIVED_BY_ADDED: [&str; 3] = ["PartialOrd", "Ord", "Hash"];

/// A file of a Rust crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrateFile {
    /// Path as it is to stand in refusals.
    pub path: String,
    /// Text.
    pub text: String,
}

/// Type to wrap a field in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldWrapper {
    /// `CachePadded` of a crate that the project uses, by the path of its module:
    /// `crossbeam_utils`.
    Padded {
        /// Path of the module.
        module: String,
    },
    /// A type that the patch adds beside the struct, aligned to so many bytes.
    Added {
        /// Alignment in bytes, a power of two.
        bytes: u32,
    },
}

/// A field to wrap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrappedField<'a> {
    /// Name of the struct.
    pub struct_name: &'a str,
    /// Field.
    pub field: &'a str,
    /// Type to wrap it in.
    pub wrapper: &'a FieldWrapper,
    /// Reason; becomes a comment above the field.
    pub reason: Option<&'a str>,
}

/// Text to put in place of some bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct TextEdit {
    bytes: Range<usize>,
    text: String,
}

/// A byte of a file, and the obstacle there.
struct EditObstacle {
    at: usize,
    why: &'static str,
}

/// Wraps a field of the struct that `files[definition]` defines, and returns the new texts by file.
///
/// ```
/// use relayout_patch::{CrateFile, FieldWrapper, WrappedField, wrap_rust_field};
///
/// let text = "struct S {\n    a: u64,\n}\n\nfn make() -> S {\n    S { a: 1 }\n}\n";
/// let files = [CrateFile { path: "s.rs".to_owned(), text: text.to_owned() }];
/// let module = "crossbeam_utils".to_owned();
/// let request = WrappedField {
///     struct_name: "S",
///     field: "a",
///     wrapper: &FieldWrapper::Padded { module },
///     reason: None,
/// };
/// let new = wrap_rust_field(&files, 0, &request).unwrap();
/// assert!(new[0].contains("a: crossbeam_utils::CachePadded<u64>,"));
/// assert!(new[0].contains("S { a: crossbeam_utils::CachePadded::new(1) }"));
/// ```
///
/// # Errors
/// The [`EditRefusal`] with the place and the remedy, if a use of the field cannot be edited.
pub fn wrap_rust_field(
    files: &[CrateFile],
    definition: usize,
    request: &WrappedField<'_>,
) -> Result<Vec<String>, EditRefusal> {
    let work = || wrap_field_in_trees(files, definition, request);
    with_deep_stack(work).unwrap_or_else(|| {
        Err(EditRefusal::RustNotEdited {
            name: request.struct_name.to_owned(),
            why: "there is no memory to read the file as Rust: try again when other programs have ended",
            place: FileLine {
                file: files.get(definition).map_or(String::new(), |file| file.path.clone()),
                line: 1,
            },
        })
    })
}

fn wrap_field_in_trees(
    files: &[CrateFile],
    definition: usize,
    request: &WrappedField<'_>,
) -> Result<Vec<String>, EditRefusal> {
    let refused = |index: usize, obstacle: EditObstacle| EditRefusal::RustNotEdited {
        name: request.struct_name.to_owned(),
        why: obstacle.why,
        place: FileLine {
            file: files[index].path.clone(),
            line: line_number(&files[index].text, obstacle.at),
        },
    };
    let mut trees = Vec::new();
    for (index, file) in files.iter().enumerate() {
        let is_about = |word: &str| file.text.contains(word);
        if index != definition && !is_about(request.struct_name) && !is_about(request.field) {
            continue;
        }
        let text = file.text.strip_prefix('\u{feff}').unwrap_or(&file.text);
        match read_tree(text) {
            Ok(tree) => trees.push((index, tree)),
            Err(_) if index != definition && !is_about(request.struct_name) => {}
            Err(at) => {
                let why = "from here on, the file cannot be read as Rust: wrap the field by hand";
                return Err(refused(index, EditObstacle { at, why }));
            }
        }
    }
    let names = CrateNames::read(&trees, request.struct_name, request.field);
    let found = names.definition(definition, &files[definition], request)?;
    let wrapper = ChosenWrapper::new(&files[definition].text, &found, request)
        .map_err(|obstacle| refused(definition, obstacle))?;
    let mut texts: Vec<String> = files.iter().map(|file| file.text.clone()).collect();
    for (index, tree) in &trees {
        let mut edits = FieldUses::find(tree, *index == definition, &names, &found, &wrapper)
            .map_err(|obstacle| refused(*index, obstacle))?;
        if *index == definition {
            edits.extend(wrapper.definition_edits(&files[*index].text, &found, request)?);
        }
        texts[*index] = apply_edits(&files[*index].text, edits);
    }
    Ok(texts)
}

/// The wrapper with the words that the source has for it.
struct ChosenWrapper {
    /// Its name, behind a path where it is from another crate.
    name: String,
    /// The type to add; `None` if it exists already.
    added: Option<AddedType>,
    /// True for a type with a public or visible `.0`.
    has_value_field: bool,
}

impl ChosenWrapper {
    fn new(
        text: &str,
        found: &StructDefinitionTree,
        request: &WrappedField<'_>,
    ) -> Result<Self, EditObstacle> {
        let at = found.name_start;
        if found.has_repr("packed") || found.has_repr("transparent") {
            let why = "a packed or transparent struct takes no aligned field";
            return Err(EditObstacle { at, why });
        }
        let is_added = matches!(request.wrapper, FieldWrapper::Added { .. });
        let is_derivable = |name: &String| {
            DERIVED_BY_BOTH.contains(&name.as_str())
                || name == "Hash"
                || is_added && DERIVED_BY_ADDED.contains(&name.as_str())
        };
        if !found.derived_traits.iter().all(is_derivable) {
            let why = "a trait is derived that the wrapper of a field does not have: implement the trait by hand first, or align the type";
            return Err(EditObstacle { at, why });
        }
        match request.wrapper {
            FieldWrapper::Padded { module } => Ok(Self {
                name: format!("{module}::{PADDED_TYPE}"),
                added: None,
                has_value_field: false,
            }),
            FieldWrapper::Added { bytes } => {
                let (name, added) = AddedType::choose(text, found, *bytes);
                Ok(Self {
                    name,
                    added,
                    has_value_field: true,
                })
            }
        }
    }

    /// Text in front of a value that is wrapped, with the path of the wrapper's module.
    fn opening(&self, path: &str) -> String {
        match self.has_value_field {
            true => format!("{path}{}(", self.name),
            false => format!("{}::new(", self.name),
        }
    }

    /// Edits of the definition: the type of the field, its comment, and the added type.
    fn definition_edits(
        &self,
        text: &str,
        found: &StructDefinitionTree,
        request: &WrappedField<'_>,
    ) -> Result<Vec<TextEdit>, EditRefusal> {
        let skipped = byte_order_mark(text);
        let insert = |at: usize, text: String| TextEdit {
            bytes: at..at,
            text,
        };
        let mut edits = vec![
            insert(found.type_bytes.start, format!("{}<", self.name)),
            insert(found.type_bytes.end, ">".to_owned()),
        ];
        let eol = line_ending(text);
        if let Some(reason) = request.reason {
            if reason.contains(['\n', '\r']) {
                return Err(EditRefusal::BadReason {
                    name: request.struct_name.to_owned(),
                });
            }
            let own = found.field_start + skipped;
            if is_first_on_line(text, own) {
                let line = line_start(text, own);
                let indent = &text[line..own];
                let comment = format!("{indent}// {}{eol}", reason.trim());
                edits.push(insert(line - skipped, comment));
            }
        }
        if let Some(added) = &self.added {
            let end = found.item_bytes.end + skipped;
            let behind = next_line_start(text, end);
            let indent = leading_white(text, found.item_bytes.start + skipped);
            let gap = if text[..behind].ends_with('\n') {
                ""
            } else {
                eol
            };
            let lines = format!("{gap}{eol}{}", added.text(indent, eol));
            edits.push(insert(behind - skipped, lines));
        }
        Ok(edits)
    }
}

/// Bytes of the mark in front of a text, which positions in trees do not count.
fn byte_order_mark(text: &str) -> usize {
    text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len()
}

fn leading_white(text: &str, at: usize) -> &str {
    let line = line_start(text, at);
    let rest = &text[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

/// Makes edits that do not overlap; those at one byte stay in their order.
fn apply_edits(text: &str, mut edits: Vec<TextEdit>) -> String {
    let skipped = byte_order_mark(text);
    edits.sort_by_key(|edit| edit.bytes.start);
    let mut new = String::with_capacity(text.len());
    let mut copied = 0;
    for edit in edits {
        let (start, end) = (edit.bytes.start + skipped, edit.bytes.end + skipped);
        new.push_str(text.get(copied..start).unwrap_or(""));
        new.push_str(&edit.text);
        copied = end.max(copied);
    }
    new.push_str(text.get(copied..).unwrap_or(""));
    new
}

/// Bytes of a syntax node in the text behind the byte order mark.
fn bytes_of(node: &impl syn::spanned::Spanned) -> Range<usize> {
    node.span().byte_range()
}

/// First byte of a token.
fn start_of(span: Span) -> usize {
    span.byte_range().start
}
