//! What is known of a register or a stack slot at one point of a function.

use relayout_layout::TypeId;

/// How sure a piece of evidence is, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EvidenceTrust {
    /// Through an index or a conditional move: the type may be that of a neighbour or an element.
    Guessed,
    /// Followed through the code: a pointer member that was loaded, a call's result.
    Followed,
    /// The debug information says so of a variable at this pc.
    Stated,
}

/// A pointer and what it points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedPointer {
    /// Type of the object.
    pub target: TypeId,
    /// Where it points, in bytes from the start of that object. May lie outside: `container_of`
    /// and its inverse pass through such values.
    pub offset: i64,
    /// It was moved from there by an unknown multiple of so many bytes, as an index does; 0 if it was
    /// not, 1 if nothing is known of the distance.
    pub stride: u32,
    /// How sure.
    pub trust: EvidenceTrust,
    /// The member that it was loaded from, or whose elements it points into, where it points to numbers,
    /// which have no better name.
    pub via: Option<Via>,
}

/// A member that holds a pointer or an array: the type that has it, and its offset there in bytes.
pub type Via = (TypeId, u32);

/// What is known of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AbstractValue {
    /// Nothing.
    #[default]
    Unknown,
    /// This number.
    Constant(u64),
    /// An address in the function's own frame, relative to the DWARF canonical frame address.
    Frame(i64),
    /// A number, or an address of which nothing is known: `plus` more than some multiple of `step`
    /// bytes. With a `step` of 0 it is a multiple of something unknown, with 1 of nothing.
    Number {
        /// The multiple.
        step: u32,
        /// What is added.
        plus: i64,
    },
    /// So many bytes from the base of the running CPU's or thread's own area; per-cpu offsets are
    /// numbers of that kind.
    Local(i64),
    /// A pointer.
    Pointer(TypedPointer),
}

impl AbstractValue {
    /// A number no object lies at: NULL and error pointers.
    fn is_no_address(self) -> bool {
        matches!(self, Self::Constant(n) if (n as i64).unsigned_abs() < 4096)
    }

    /// What holds whichever of the two it is.
    ///
    /// The result never says more than `self`, apart from NULL giving way to a pointer, so that
    /// repeated joins come to an end: strides only ever become divisors of what they were.
    pub fn join(self, other: Self) -> Self {
        if self == other {
            return self;
        }
        match (self, other) {
            (Self::Pointer(a), Self::Pointer(b)) if a.target == b.target => {
                Self::Pointer(TypedPointer {
                    trust: a.trust.min(b.trust),
                    ..a.joined_with(b)
                })
            }
            (Self::Pointer(_), b) if b.is_no_address() => self,
            (a, Self::Pointer(_)) if a.is_no_address() => other,
            _ => Self::Unknown,
        }
    }

    /// The value plus a known number of bytes.
    pub fn plus(self, bytes: i64) -> Self {
        match self {
            Self::Constant(n) => Self::Constant(n.wrapping_add(bytes as u64)),
            Self::Frame(at) => Self::Frame(at.wrapping_add(bytes)),
            Self::Pointer(p) => Self::Pointer(TypedPointer {
                offset: p.offset.wrapping_add(bytes),
                ..p
            }),
            Self::Unknown if bytes != 0 => Self::Number {
                step: 1,
                plus: bytes,
            },
            Self::Number { step, plus } => Self::Number {
                step,
                plus: plus.wrapping_add(bytes),
            },
            Self::Local(at) => Self::Local(at.wrapping_add(bytes)),
            Self::Unknown => Self::Unknown,
        }
    }

    /// As a number: the multiple and what is added. `None` of what is known to be an address, or
    /// known as a whole.
    pub fn as_number(self) -> Option<(u32, i64)> {
        match self {
            Self::Unknown => Some((1, 0)),
            Self::Number { step, plus } => Some((step, plus)),
            _ => None,
        }
    }

    /// The value times a known number.
    pub fn times(self, by: u64) -> Self {
        match (self, self.as_number()) {
            (_, _) if by == 1 => self,
            (Self::Constant(n), _) => Self::Constant(n.wrapping_mul(by)),
            (_, Some((step, plus))) => {
                let step = u32::try_from(by).ok().and_then(|by| step.checked_mul(by));
                Self::Number {
                    step: step.unwrap_or(0),
                    plus: plus.wrapping_mul(by as i64),
                }
            }
            _ => Self::Unknown,
        }
    }
}

impl TypedPointer {
    /// Moved by an unknown multiple of `step` bytes.
    pub fn moved_by_steps(self, step: u32) -> Self {
        Self {
            stride: gcd(self.stride, step.max(1)),
            trust: EvidenceTrust::Guessed,
            ..self
        }
    }

    /// This pointer or `other`, which points into the same: `p++` over an array. If they are not the
    /// same, it is the one moved by some multiple of the distance.
    fn joined_with(self, other: Self) -> Self {
        let distance = self.offset.abs_diff(other.offset);
        let distance = u32::try_from(distance).unwrap_or(1);
        let stride = gcd(gcd(self.stride, other.stride), distance);
        let trust = if stride == self.stride {
            self.trust
        } else {
            EvidenceTrust::Guessed
        };
        Self {
            stride,
            trust,
            via: self.via.filter(|via| other.via == Some(*via)),
            ..self
        }
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(target: u32, offset: i64) -> AbstractValue {
        AbstractValue::Pointer(TypedPointer {
            target: TypeId(target),
            offset,
            stride: 0,
            trust: EvidenceTrust::Followed,
            via: None,
        })
    }

    fn check(a: AbstractValue, b: AbstractValue, expect: AbstractValue) {
        assert_eq!(a.join(b), expect, "{a:?} {b:?}");
    }

    #[test]
    fn null_gives_way() {
        check(AbstractValue::Constant(0), pointer(1, 8), pointer(1, 8));
        check(
            pointer(1, 8),
            AbstractValue::Constant(-12i64 as u64),
            pointer(1, 8),
        );
        check(
            pointer(1, 8),
            AbstractValue::Constant(0xffff_ffff_8200_0000),
            AbstractValue::Unknown,
        );
    }

    fn stride(value: AbstractValue) -> Option<u32> {
        match value {
            AbstractValue::Pointer(p) => Some(p.stride),
            _ => None,
        }
    }

    #[test]
    fn a_pointer_that_is_counted_up_moves_by_the_distance() {
        let once = pointer(1, 8).join(pointer(1, 56));
        assert_eq!(stride(once), Some(48));
        assert_eq!(once.join(pointer(1, 104)), once);
        assert_eq!(stride(once.join(pointer(1, 16))), Some(8));
    }

    #[test]
    fn numbers_remember_what_they_are_multiples_of() {
        let times = AbstractValue::Unknown.times(3).plus(1).times(16);
        assert_eq!(times, AbstractValue::Number { step: 48, plus: 16 });
        assert_eq!(
            AbstractValue::Constant(3).times(16),
            AbstractValue::Constant(48)
        );
        let unknown = AbstractValue::Number { step: 0, plus: 0 };
        assert_eq!(unknown.times(8), unknown);
    }

    #[test]
    fn different_types_cancel() {
        check(pointer(1, 0), pointer(2, 0), AbstractValue::Unknown);
    }
}
