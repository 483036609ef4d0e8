//! Changes that are made one after the other, each of which is read back.

use crate::change::{SourceChange, WrittenAlignment};
use crate::language::{SourceLanguage, StructSource};
use crate::refusal::EditRefusal;

/// Makes changes one after the other by `make`, which returns the text with one of them. Each text
/// is read back: a change that adds or removes no member leaves the same members.
pub(crate) fn make_in_turn(
    language: &dyn SourceLanguage,
    source: StructSource<'_>,
    changes: &[SourceChange],
    mut make: impl FnMut(StructSource<'_>, &SourceChange) -> Result<String, EditRefusal>,
) -> Result<String, EditRefusal> {
    let mut text = source.text.to_owned();
    let mut outline = language.read_struct(source).ok();
    let number = { outline.as_ref() }.map(|outline| outline.number);
    for change in changes {
        refuse_bad_alignment(change)?;
        let now = StructSource {
            text: &text,
            number,
            ..source
        };
        let new = make(now, change)?;
        let read = language.read_struct(StructSource { text: &new, ..now });
        let read = read.ok();
        if let (Some(before), Some(after)) = (&outline, &read)
            && !change.changes_members()
            && !before.has_same_members(after)
        {
            return Err(EditRefusal::NotAsIntended {
                name: source.name.to_owned(),
                place: before.place.clone(),
            });
        }
        (text, outline) = (new, read);
    }
    Ok(text)
}

fn refuse_bad_alignment(change: &SourceChange) -> Result<(), EditRefusal> {
    match change {
        SourceChange::AlignMember { alignment, .. } | SourceChange::AlignType { alignment, .. } => {
            match alignment {
                WrittenAlignment::Bytes(bytes) if !bytes.is_power_of_two() => {
                    Err(EditRefusal::BadAlignment { bytes: *bytes })
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
