//! Knowledge about a register or a stack slot at one point of a function.

use relayout_layout::TypeId;

/// Trust in a piece of evidence, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EvidenceTrust {
    /// Reached through an index or a conditional move: the type may be that of a neighbour or an
    /// element.
    Guessed,
    /// Followed through the code: a loaded pointer member, or the result of a call.
    Followed,
    /// Stated by the debug information about a variable at this pc.
    Stated,
}

/// Pointer with the type of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypedPointer {
    /// Type of the target.
    pub target: TypeId,
    /// Bytes from the start of the target. They may lie outside of it: `container_of` and its
    /// inverse pass through such values.
    pub offset: i64,
    /// Stride of an unknown number of steps that the pointer was moved by, in bytes: that of an
    /// index; 0 if it was not moved, 1 if nothing is known of the distance.
    pub stride: u32,
    /// Trust in the type.
    pub trust: EvidenceTrust,
    /// Member that the pointer was loaded from; of a pointer into an array of numbers in a type, or into
    /// the last array of a type that may go on, that array.
    pub via: Option<Via>,
}

/// Member that holds a pointer or an array: its type and the member's offset in bytes.
pub type Via = (TypeId, u32);

/// Knowledge about a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AbstractValue {
    /// No knowledge.
    #[default]
    Unknown,
    /// Constant.
    Constant(u64),
    /// Address in the function's own frame, relative to the DWARF canonical frame address.
    Frame(i64),
    /// Address in the function's own frame, an unknown multiple of `step` bytes from `at`: in an
    /// array there. `step` is not 0.
    FrameStep {
        /// Address of one of the elements, relative to the canonical frame address.
        at: i64,
        /// Step in bytes; 1 if nothing is known of the distance.
        step: u32,
    },
    /// Number, or address without further knowledge: `plus` more than a multiple of `step` bytes. A
    /// `step` of 0 is a multiple of an unknown number, and 1 of any.
    Number {
        /// Step in bytes.
        step: u32,
        /// Bytes added to the multiple.
        plus: i64,
    },
    /// Bytes from the base of the running CPU's or thread's own area, which are per-cpu offsets.
    Local(i64),
    /// Pointer.
    Pointer(TypedPointer),
}

impl AbstractValue {
    /// Returns true for numbers at which no object lies: NULL and error pointers.
    fn is_no_address(self) -> bool {
        matches!(self, Self::Constant(n) if (n as i64).unsigned_abs() < 4096)
    }

    /// Joins two values: the knowledge that holds for both.
    ///
    /// The result never tells more than `self`, except that NULL gives way to a pointer. So
    /// repeated joins end: strides only become divisors of themselves.
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
            (Self::Frame(_) | Self::FrameStep { .. }, Self::Frame(_) | Self::FrameStep { .. }) => {
                self.joined_in_frame(other)
            }
            (Self::Pointer(_), b) if b.is_no_address() => self,
            (a, Self::Pointer(_)) if a.is_no_address() => other,
            _ => Self::Unknown,
        }
    }

    /// Joins two addresses in the frame, as of `p++` over an array.
    fn joined_in_frame(self, other: Self) -> Self {
        let place = |value| match value {
            Self::Frame(at) => Some((at, 0)),
            Self::FrameStep { at, step } => Some((at, step)),
            _ => None,
        };
        let (Some((at, step)), Some((other_at, other_step))) = (place(self), place(other)) else {
            return Self::Unknown;
        };
        let distance = u32::try_from(at.abs_diff(other_at)).unwrap_or(1);
        let step = gcd(gcd(step, other_step), distance);
        Self::FrameStep { at, step }
    }

    /// Adds an unknown multiple of `step` bytes, and `plus`, to an address in the frame; `None` for
    /// other values.
    pub fn stepped_in_frame(self, (step, plus): (u32, i64)) -> Option<Self> {
        let (at, known_step) = match self {
            Self::Frame(at) => (at, 0),
            Self::FrameStep { at, step } => (at, step),
            _ => return None,
        };
        Some(Self::FrameStep {
            at: at.wrapping_add(plus),
            step: gcd(known_step, step.max(1)),
        })
    }

    /// Adds a known number of bytes.
    pub fn plus(self, bytes: i64) -> Self {
        match self {
            Self::Constant(n) => Self::Constant(n.wrapping_add(bytes as u64)),
            Self::Frame(at) => Self::Frame(at.wrapping_add(bytes)),
            Self::FrameStep { at, step } => Self::FrameStep {
                at: at.wrapping_add(bytes),
                step,
            },
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

    /// Returns a number as its step and the bytes added. `None` for addresses and for constants.
    pub fn as_number(self) -> Option<(u32, i64)> {
        match self {
            Self::Unknown => Some((1, 0)),
            Self::Number { step, plus } => Some((step, plus)),
            _ => None,
        }
    }

    /// Multiplies by a known number.
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
    /// Moves the pointer by an unknown multiple of `step` bytes.
    pub fn moved_by_steps(self, step: u32) -> Self {
        Self {
            stride: gcd(self.stride, step.max(1)),
            trust: EvidenceTrust::Guessed,
            ..self
        }
    }

    /// Joins with a pointer to the same type, as of `p++` over an array. If they differ, the result
    /// is this pointer moved by a multiple of their distance.
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
    fn an_address_that_steps_through_the_frame_stays_in_it() {
        let step = |at, step| AbstractValue::FrameStep { at, step };
        check(
            AbstractValue::Frame(-64),
            AbstractValue::Frame(-56),
            step(-64, 8),
        );
        check(step(-64, 8), AbstractValue::Frame(-32), step(-64, 8));
        check(step(-64, 8), step(-60, 8), step(-64, 4));
        let indexed = AbstractValue::Frame(-64).stepped_in_frame((8, 16));
        assert_eq!(indexed, Some(step(-48, 8)));
        assert_eq!(pointer(1, 0).stepped_in_frame((8, 0)), None);
    }

    #[test]
    fn different_types_cancel() {
        check(pointer(1, 0), pointer(2, 0), AbstractValue::Unknown);
    }
}
