//! Looks of text. Nothing is told by a colour alone: kinds are words, and written members have capitals.

use ratatui_core::style::{Color, Modifier, Style};
use relayout_contend::FindingKind;

/// Means that a terminal has to set text apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ViewPalette {
    /// The 16 colours that every colour terminal has.
    Colours,
    /// Bold and reverse text, without colours.
    Attributes,
    /// Plain text.
    Plain,
}

/// Purpose of a piece of text, which decides its look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextRole {
    Plain,
    /// Title of the screen, or heading of a section.
    Heading,
    /// Row that keys act on.
    Selected,
    /// Bytes that are only read.
    ReadBytes,
    /// Bytes that a single context writes.
    WrittenBytes,
    /// Bytes that several contexts write.
    ContendedBytes,
    /// Names of keys, and words that need attention.
    Key,
}

impl ViewPalette {
    pub(super) fn style(self, role: TextRole) -> Style {
        let plain = Style::new();
        let attribute = match role {
            TextRole::Heading | TextRole::ContendedBytes => Modifier::BOLD,
            TextRole::Selected => Modifier::REVERSED,
            _ => Modifier::empty(),
        };
        let colour = match role {
            TextRole::ReadBytes => Some(Color::Green),
            TextRole::WrittenBytes => Some(Color::Yellow),
            TextRole::ContendedBytes => Some(Color::Red),
            TextRole::Key => Some(Color::Cyan),
            _ => None,
        };
        match (self, colour) {
            (Self::Plain, _) => plain,
            (Self::Colours, Some(colour)) => plain.add_modifier(attribute).fg(colour),
            (Self::Attributes | Self::Colours, _) => plain.add_modifier(attribute),
        }
    }

    /// Returns the role of a kind of finding.
    pub(super) fn kind_role(kind: FindingKind) -> TextRole {
        match kind {
            FindingKind::FalseSharing | FindingKind::HotGlobal | FindingKind::LockWord => {
                TextRole::ContendedBytes
            }
            FindingKind::TrueSharing => TextRole::Plain,
            _ => TextRole::WrittenBytes,
        }
    }
}
