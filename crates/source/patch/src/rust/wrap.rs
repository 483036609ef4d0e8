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

use super::reason_line;
use super::syntax::{read_tree, with_deep_stack};
use crate::change::WrittenAlignment;
use crate::language::StructSource;
use crate::lines::{
    indent_at, is_first_on_line, line_ending, line_number, line_start, next_line_start,
};
use crate::refusal::{EditRefusal, FileLine};
use crate::source_files::SourceText;
use crate::text_edit::{TextEdit, apply_edits};
use added_type::AddedType;
use field_uses::FieldUses;
use names::{CrateNames, StructDefinitionTree};

/// Index of the file that has the struct; the other files of the crate follow.
const DEFINITION: usize = 0;
/// Path of the padding type in the crate that has it.
const PADDED_TYPE: &str = "CachePadded";
/// Traits that can be derived for both kinds of wrapper.
const DERIVED_BY_BOTH: [&str; 6] = ["Debug", "Default", "Clone", "Copy", "PartialEq", "Eq"];
/// Further traits that a type of the patch derives where the struct does.
const DERIVED_BY_ADDED: [&str; 3] = ["PartialOrd", "Ord", "Hash"];

/// A field to wrap.
#[derive(Clone, Copy)]
pub(super) struct WrappedField<'a> {
    pub name: &'a str,
    pub alignment: &'a WrittenAlignment,
    /// Reason; becomes a comment above the field.
    pub reason: Option<&'a str>,
}

/// A byte of a file, and the obstacle there.
struct EditObstacle {
    at: usize,
    why: &'static str,
}

/// Wraps a field of the struct, in `others` too, and returns the new text of the file that has the
/// struct.
///
/// # Errors
/// The [`EditRefusal`] with the place and the remedy, if a use of the field cannot be edited.
pub(super) fn wrap_field(
    source: StructSource<'_>,
    others: &mut [SourceText],
    field: &WrappedField<'_>,
) -> Result<String, EditRefusal> {
    let others_now: &[SourceText] = others;
    let work = || wrap_in_trees(source, others_now, field);
    let texts = with_deep_stack(work).unwrap_or_else(|| {
        Err(EditRefusal::RustNotEdited {
            name: source.name.to_owned(),
            why: "there is no memory to read the file as Rust: try again when other programs have ended",
            place: FileLine {
                file: source.file.to_owned(),
                line: 1,
            },
        })
    });
    let mut texts = texts?.into_iter();
    let definition = texts.next().unwrap_or_default();
    for (other, text) in others.iter_mut().zip(texts) {
        other.text = text;
    }
    Ok(definition)
}

/// Returns the new texts of the file that has the struct and of the other files.
fn wrap_in_trees(
    source: StructSource<'_>,
    others: &[SourceText],
    field: &WrappedField<'_>,
) -> Result<Vec<String>, EditRefusal> {
    let own = std::iter::once((source.file, source.text));
    let other_files = others.iter().map(|other| (&*other.file, &*other.text));
    let files: Vec<(&str, &str)> = own.chain(other_files).collect();
    let refused = |index: usize, obstacle: EditObstacle| EditRefusal::RustNotEdited {
        name: source.name.to_owned(),
        why: obstacle.why,
        place: FileLine {
            file: files[index].0.to_owned(),
            line: line_number(files[index].1, obstacle.at),
        },
    };
    let mut trees = Vec::new();
    for (index, (_, text)) in files.iter().enumerate() {
        let is_about = |word: &str| text.contains(word);
        if index != DEFINITION && !is_about(source.name) && !is_about(field.name) {
            continue;
        }
        match read_tree(&text[byte_order_mark(text)..]) {
            Ok(tree) => trees.push((index, tree)),
            Err(_) if index != DEFINITION && !is_about(source.name) => {}
            Err(at) => {
                let why = "from here on, the file cannot be read as Rust: wrap the field by hand";
                return Err(refused(index, EditObstacle { at, why }));
            }
        }
    }
    let names = CrateNames::read(&trees, source.name, field.name);
    let found = names.definition(source)?;
    let wrapper = ChosenWrapper::new(source.text, &found, field)
        .map_err(|obstacle| refused(DEFINITION, obstacle))?;
    let mut texts: Vec<String> = files.iter().map(|(_, text)| (*text).to_owned()).collect();
    for (index, tree) in &trees {
        let is_definition = *index == DEFINITION;
        let mut edits = FieldUses::find(tree, is_definition, &names, &found, &wrapper)
            .map_err(|obstacle| refused(*index, obstacle))?;
        if is_definition {
            edits.extend(wrapper.definition_edits(source, &found, field)?);
        }
        let text = files[*index].1;
        let (mark, code) = text.split_at(byte_order_mark(text));
        texts[*index] = mark.to_owned() + &apply_edits(code, edits);
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
        field: &WrappedField<'_>,
    ) -> Result<Self, EditObstacle> {
        let at = found.name_start;
        if found.has_repr("packed") || found.has_repr("transparent") {
            let why = "a packed or transparent struct takes no aligned field";
            return Err(EditObstacle { at, why });
        }
        let is_added = matches!(field.alignment, WrittenAlignment::Bytes(_));
        let is_derivable = |name: &String| {
            DERIVED_BY_BOTH.contains(&name.as_str())
                || name == "Hash"
                || is_added && DERIVED_BY_ADDED.contains(&name.as_str())
        };
        if !found.derived_traits.iter().all(is_derivable) {
            let why = "a trait is derived that the wrapper of a field does not have: implement the trait by hand first, or align the type";
            return Err(EditObstacle { at, why });
        }
        match field.alignment {
            WrittenAlignment::Bytes(bytes) => {
                let (name, added) = AddedType::choose(text, found, *bytes);
                Ok(Self {
                    name,
                    added,
                    has_value_field: true,
                })
            }
            WrittenAlignment::CachePadded { module } => Ok(Self {
                name: format!("{module}::{PADDED_TYPE}"),
                added: None,
                has_value_field: false,
            }),
            WrittenAlignment::Macro(_) => {
                let why = "a field is aligned by a number of bytes";
                Err(EditObstacle { at, why })
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
        source: StructSource<'_>,
        found: &StructDefinitionTree,
        field: &WrappedField<'_>,
    ) -> Result<Vec<TextEdit>, EditRefusal> {
        let text = &source.text[byte_order_mark(source.text)..];
        let mut edits = vec![
            TextEdit::insert(found.type_bytes.start, format!("{}<", self.name)),
            TextEdit::insert(found.type_bytes.end, ">".to_owned()),
        ];
        let own = found.field_start;
        let comment = reason_line(text, own, field.reason, source.name)?;
        if is_first_on_line(text, own) {
            edits.push(TextEdit::insert(line_start(text, own), comment));
        }
        if let Some(added) = &self.added {
            let eol = line_ending(text);
            let behind = next_line_start(text, found.item_bytes.end);
            let indent = indent_at(text, found.item_bytes.start);
            let gap = if text[..behind].ends_with('\n') {
                ""
            } else {
                eol
            };
            let lines = format!("{gap}{eol}{}", added.text(indent, eol));
            edits.push(TextEdit::insert(behind, lines));
        }
        Ok(edits)
    }
}

/// Bytes of the mark in front of a text, which positions in trees do not count.
fn byte_order_mark(text: &str) -> usize {
    text.len() - text.strip_prefix('\u{feff}').unwrap_or(text).len()
}

/// Bytes of a syntax node in the text behind the byte order mark.
fn bytes_of(node: &impl syn::spanned::Spanned) -> Range<usize> {
    node.span().byte_range()
}

/// First byte of a token.
fn start_of(span: Span) -> usize {
    span.byte_range().start
}
