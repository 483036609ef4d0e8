//! The changes that lead to a candidate, as edits of a struct's source.

use relayout_layout::abi::Shape;
use relayout_patch::{Alignment, Change as Edit, Position};
use relayout_search::Change;

use super::super::TypeAdvice;

/// The edits. `reason`: why an atom stands where it does then; `kernel_line`: bytes of a line, if it is the
/// kernel's source.
pub fn edits(
    one: &TypeAdvice<'_>,
    changes: &[Change],
    kernel_line: Option<u64>,
    reason: &dyn Fn(usize) -> Option<String>,
) -> Result<Vec<Edit>, String> {
    // Of a member that moves and is aligned, the alignment says it.
    let aligned = |atom: usize| {
        let aligns =
            |other: &Change| matches!(other, Change::AlignMember { atom: at, .. } if *at == atom);
        changes.iter().any(aligns)
    };
    let edits = changes.iter().enumerate().map(|(nth, change)| {
        let is_move = matches!(change, Change::Move { .. });
        // The comment of the member above holds for the next one too.
        let above = match nth.checked_sub(1).map(|nth| &changes[nth]) {
            Some(above @ Change::Move { atom, .. }) if change.continues(above) => Some(*atom),
            _ => None,
        };
        let said = |why: &String| above.and_then(reason).as_ref() == Some(why);
        let reason = |atom: usize| {
            let unsaid = reason(atom).filter(|why| !said(why));
            unsaid.filter(|_| !(is_move && aligned(atom)))
        };
        edit(&one.shape, change, kernel_line, &reason)
    });
    edits.collect()
}

fn edit(
    shape: &Shape,
    change: &Change,
    kernel_line: Option<u64>,
    reason: &dyn Fn(usize) -> Option<String>,
) -> Result<Edit, String> {
    let alignment = |to: u64| match kernel_line {
        Some(line) if line == to => Alignment::Macro("____cacheline_aligned_in_smp".to_owned()),
        _ => Alignment::Bytes(u32::try_from(to).unwrap_or(u32::MAX)),
    };
    let names = |atom: usize| &shape.atoms[atom].names[..];
    let single = |atom: usize| match names(atom) {
        [name] => Ok(name.clone()),
        names => Err(format!("{} would have to align as one", names.join(", "))),
    };
    let nameless = "a place in it is beside a member without a name";
    let behind = |atom: usize| {
        names(atom)
            .last()
            .cloned()
            .ok_or(nameless)
            .map(Position::After)
    };
    match *change {
        Change::Move { atom, after } => Ok(Edit::MoveMembers {
            members: names(atom).to_vec(),
            to: after.map_or(Ok(Position::First), behind)?,
            spacing: None,
            reason: reason(atom),
        }),
        Change::AlignMember { atom, to } => Ok(Edit::AlignMember {
            member: single(atom)?,
            alignment: alignment(to),
            reason: reason(atom),
        }),
        Change::AlignType { to } => Ok(Edit::AlignType {
            alignment: alignment(to),
            reason: None,
        }),
        Change::Pad { before, bytes } => Ok(Edit::AddPadding {
            name: padding_name(shape),
            bytes,
            to: match before {
                Some(before) => {
                    let first = names(before).first().cloned().ok_or(nameless)?;
                    Position::Before(first)
                }
                None => behind(shape.atoms.len() - 1)?,
            },
            reason: None,
        }),
    }
}

/// The first of `_pad1_`, `_pad2_`, ... that no member has.
fn padding_name(shape: &Shape) -> String {
    let taken = |name: &String| shape.atoms.iter().any(|atom| atom.names.contains(name));
    let mut names = (1..=shape.atoms.len() + 1).map(|number| format!("_pad{number}_"));
    names
        .find(|name| !taken(name))
        .expect("there are fewer atoms than names")
}
