//! Changes of a layout as edits of the struct's source.

use relayout_layout::abi::{LayoutAtom, StructShape};
use relayout_patch::{MemberPosition, SourceChange as Edit, WrittenAlignment};
use relayout_search::{LayoutChange, OrderBorder};

use relayout_advice::GatheredType;

/// Reason why a place in the source cannot be named.
const NAMELESS: &str = "a place in it is beside a member without a name";
/// Comment of padding at the end of a type.
const PADDING_REASON: &str = "Keeps the next element off the cache lines of this one.";

/// Forms in which alignments are written.
pub struct AlignmentForms {
    /// Bytes of a cache line, for the kernel's source, which has a macro for them.
    pub kernel_line: Option<u64>,
    /// Alignment of every aligned member, where the language has a type for it.
    pub member: Option<WrittenAlignment>,
}

impl AlignmentForms {
    fn form_of(&self, bytes: u64) -> WrittenAlignment {
        match self.kernel_line {
            Some(line) if line == bytes => {
                WrittenAlignment::Macro("____cacheline_aligned_in_smp".to_owned())
            }
            _ => WrittenAlignment::Bytes(u32::try_from(bytes).unwrap_or(u32::MAX)),
        }
    }
}

/// Returns the edits for `changes`.
///
/// `borders` are those that no member may cross. `reason` returns the comment for the new place of
/// an atom.
pub fn struct_edits(
    shape: &StructShape,
    changes: &[LayoutChange],
    borders: &[OrderBorder],
    alignments: &AlignmentForms,
    reason: &dyn Fn(usize) -> Option<String>,
) -> Result<Vec<Edit>, String> {
    // The alignment of a member that also moves carries the comment.
    let is_aligned = |atom: usize| {
        let aligns_atom = |change: &LayoutChange| matches!(change, LayoutChange::AlignMember { atom: at, .. } if *at == atom);
        changes.iter().any(aligns_atom)
    };
    let edits = changes.iter().enumerate().map(|(index, change)| {
        let is_move = matches!(change, LayoutChange::Move { .. });
        // The comment of the member above covers the next one too.
        let previous_move = match index.checked_sub(1).map(|nth| &changes[nth]) {
            Some(above @ LayoutChange::Move { atom, .. }) if change.continues(above) => Some(*atom),
            _ => None,
        };
        let is_said_above = |text: &String| previous_move.and_then(reason).as_ref() == Some(text);
        let unsaid_reason = |atom: usize| {
            reason(atom)
                .filter(|text| !is_said_above(text))
                .filter(|_| !(is_move && is_aligned(atom)))
        };
        let next = atom_behind_border(shape, changes, change, borders);
        match (
            struct_edit(shape, change, alignments, &unsaid_reason)?,
            next,
        ) {
            (
                Edit::MoveMembers {
                    members,
                    spacing,
                    reason,
                    ..
                },
                Some(next),
            ) => {
                let to = MemberPosition::Before(first_name(shape, next)?);
                Ok(Edit::MoveMembers {
                    members,
                    to,
                    spacing,
                    reason,
                })
            }
            (edit, _) => Ok(edit),
        }
    });
    edits.collect()
}

/// Returns the first atom behind a border, if the change moves an atom from behind that border to
/// right behind the last in front of it. The source has the border between these two.
fn atom_behind_border(
    shape: &StructShape,
    changes: &[LayoutChange],
    change: &LayoutChange,
    borders: &[OrderBorder],
) -> Option<usize> {
    let LayoutChange::Move { atom, after } = *change else {
        return None;
    };
    let is_between = |border: &&OrderBorder| {
        after.is_none_or(|after| after < border.position) && border.position <= atom
    };
    let border = borders.iter().filter(is_between).max()?;
    let is_moved = |at: &usize| {
        let moves =
            |change: &LayoutChange| matches!(change, LayoutChange::Move { atom, .. } if atom == at);
        changes.iter().any(moves)
    };
    (border.position..shape.atoms.len()).find(|at| !is_moved(at))
}

/// Returns the name of the first member of an atom.
fn first_name(shape: &StructShape, atom: usize) -> Result<String, String> {
    let name = shape.atoms[atom].declared_names().first().cloned();
    name.ok_or_else(|| NAMELESS.to_owned())
}

fn struct_edit(
    shape: &StructShape,
    change: &LayoutChange,
    alignments: &AlignmentForms,
    reason: &dyn Fn(usize) -> Option<String>,
) -> Result<Edit, String> {
    let names = |atom: usize| shape.atoms[atom].declared_names();
    let single = |atom: usize| match &shape.atoms[atom] {
        // C has no place for an attribute on it.
        LayoutAtom { tag: Some(tag), .. } => Err(format!("'{tag}' is a member without a name")),
        LayoutAtom { names, .. } => match &names[..] {
            [name] => Ok(name.clone()),
            names => Err(format!("{} would have to align as one", names.join(", "))),
        },
    };
    let behind = |atom: usize| {
        names(atom)
            .last()
            .cloned()
            .ok_or(NAMELESS)
            .map(MemberPosition::After)
    };
    match *change {
        LayoutChange::Move { atom, after } => Ok(Edit::MoveMembers {
            members: names(atom).to_vec(),
            to: after.map_or(Ok(MemberPosition::First), behind)?,
            spacing: None,
            reason: reason(atom),
        }),
        LayoutChange::AlignMember { atom, to } => Ok(Edit::AlignMember {
            member: single(atom)?,
            alignment: { alignments.member.clone() }.unwrap_or_else(|| alignments.form_of(to)),
            reason: reason(atom),
        }),
        LayoutChange::AlignType { to } => Ok(Edit::AlignType {
            alignment: alignments.form_of(to),
            reason: None,
        }),
        LayoutChange::Pad { before, bytes } => Ok(Edit::AddPadding {
            name: padding_name(shape),
            bytes,
            to: match before {
                Some(before) => MemberPosition::Before(first_name(shape, before)?),
                None => behind(shape.atoms.len() - 1)?,
            },
            reason: before.is_none().then(|| PADDING_REASON.to_owned()),
        }),
        LayoutChange::FixOrder { ref order } => Ok(Edit::FixOrder {
            fields: order
                .iter()
                .flat_map(|atom| names(*atom))
                .cloned()
                .collect(),
        }),
        LayoutChange::SpreadElements { .. } | LayoutChange::RoundRuns { .. } => {
            Err("it changes elements of arrays".to_owned())
        }
    }
}

/// Returns the edits for `changes` of a union, which has no order of members.
///
/// # Errors
/// A change is about a member.
pub fn union_edits(
    gathered: &GatheredType<'_>,
    changes: &[LayoutChange],
) -> Result<Vec<Edit>, String> {
    let edits = changes.iter().map(|change| match *change {
        LayoutChange::AlignType { to } => Ok(Edit::AlignType {
            alignment: WrittenAlignment::Bytes(u32::try_from(to).unwrap_or(u32::MAX)),
            reason: None,
        }),
        LayoutChange::Pad { bytes, .. } => Ok(Edit::AddPadding {
            name: padding_name(&gathered.shape),
            bytes: bytes + gathered.aggregate.size,
            to: MemberPosition::Last,
            reason: Some(PADDING_REASON.to_owned()),
        }),
        _ => Err(format!("{} is a union", gathered.name)),
    });
    edits.collect()
}

/// Returns the first of `_pad1_`, `_pad2_`, ... that no member has.
fn padding_name(shape: &StructShape) -> String {
    let taken = |name: &String| shape.atoms.iter().any(|atom| atom.is_called(name));
    let mut names = (1..=shape.atoms.len() + 1).map(|number| format!("_pad{number}_"));
    names
        .find(|name| !taken(name))
        .expect("there are fewer atoms than names")
}
