//! Access labels between the members of a class: `public:`.

use relayout_layout::{Aggregate, MemberAccess, StatedAccess};

use crate::frame::PrintFrame;
use crate::printer::{LayoutComment, LayoutPrinter};

/// Labels of a class, as they are met from its first member to its last. Each tells the access from there on;
/// parts whose access is not stated have none.
pub(super) struct AccessLabels<'t> {
    stated: Option<&'t StatedAccess>,
    functions_met: usize,
    current: Option<MemberAccess>,
}

impl<'t> AccessLabels<'t> {
    pub(super) fn new(aggregate: &'t Aggregate) -> Self {
        Self {
            stated: aggregate.access.as_deref(),
            functions_met: 0,
            current: None,
        }
    }

    /// Returns the labels between the member at `index` and the one before it.
    pub(super) fn before_member(&mut self, index: usize) -> Vec<MemberAccess> {
        let mut labels = self.of_functions_up_to(index);
        let own = self.stated.and_then(|stated| *stated.members.get(index)?);
        labels.extend(self.changed_to(own));
        labels
    }

    /// Returns the labels behind the last member.
    pub(super) fn behind_members(&mut self) -> Vec<MemberAccess> {
        self.of_functions_up_to(usize::MAX)
    }

    fn of_functions_up_to(&mut self, index: usize) -> Vec<MemberAccess> {
        let Some(stated) = self.stated else {
            return Vec::new();
        };
        let mut labels = Vec::new();
        while let Some((behind, access)) = stated.functions.get(self.functions_met)
            && *behind <= index
        {
            labels.extend(self.changed_to(Some(*access)));
            self.functions_met += 1;
        }
        labels
    }

    fn changed_to(&mut self, access: Option<MemberAccess>) -> Option<MemberAccess> {
        let changed = access.filter(|_| access != self.current)?;
        self.current = Some(changed);
        Some(changed)
    }
}

impl LayoutPrinter<'_> {
    /// Writes labels, behind the comments on what is in front of them. Returns true if these still need the blank
    /// line behind them.
    pub(super) fn write_labels(
        &mut self,
        labels: &[MemberAccess],
        comments: &mut Vec<LayoutComment>,
        frame: &PrintFrame,
    ) -> bool {
        let is_commented = !labels.is_empty() && !comments.is_empty();
        if is_commented {
            self.write_comments(comments, frame);
            self.out.pop();
        }
        for label in labels {
            self.push_tabs(frame.indent.saturating_sub(1));
            self.push(label.keyword());
            self.push(":\n\n");
        }
        is_commented
    }
}
