//! Debugging information entry with its unit.
use gimli::UnitOffset;

use super::die::{self, DieOffset, Reader, Unit};

pub(super) type DieEntry<'a> = gimli::DebuggingInformationEntry<Reader<'a>>;

/// Debugging information entry with its unit.
pub(super) struct DieContext<'f, 'a> {
    pub(super) unit: &'f Unit<'a>,
    /// Start of the unit in `.debug_info`.
    pub(super) start: usize,
    pub(super) entry: DieEntry<'a>,
}

impl DieContext<'_, '_> {
    pub(super) fn die(&self) -> DieOffset {
        let UnitOffset(offset) = self.entry.offset();
        DieOffset(self.start + offset)
    }

    pub(super) fn number(&self, name: gimli::DwAt) -> Option<u64> {
        self.entry.attr_value(name)?.udata_value()
    }

    /// Constant that may be negative. Fixed-size forms have no sign of their own; producers use
    /// them for values that are not negative.
    pub(super) fn signed_number(&self, name: gimli::DwAt) -> Option<i128> {
        use gimli::AttributeValue as Value;
        match self.entry.attr_value(name)? {
            Value::Data1(value) => Some(i128::from(value)),
            Value::Data2(value) => Some(i128::from(value)),
            Value::Data4(value) => Some(i128::from(value)),
            Value::Data8(value) | Value::Udata(value) => Some(i128::from(value)),
            value => value.sdata_value().map(i128::from),
        }
    }

    pub(super) fn flag(&self, name: gimli::DwAt) -> bool {
        self.entry
            .attr_value(name)
            .is_some_and(|value| die::is_flag_set(&value))
    }
}

pub(super) fn describe_die(die: DieOffset) -> String {
    format!("the entry at {:#x} of .debug_info", die.0)
}
