//! What is known of a register or a stack slot at one point of a function.

use relayout_layout::TypeId;

/// How sure a piece of evidence is, ascending.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Trust {
    /// Through an index or a conditional move: the type may be that of a neighbour or an element.
    Guessed,
    /// Followed through the code: a pointer member that was loaded, a call's result.
    Followed,
    /// The debug information says so of a variable at this pc.
    Stated,
}

/// A pointer and what it points into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// Type of the object.
    pub target: TypeId,
    /// Where it points, in bytes from the start of that object. May lie outside: `container_of`
    /// and its inverse pass through such values.
    pub offset: i64,
    /// How sure.
    pub trust: Trust,
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Value {
    /// Nothing.
    #[default]
    Unknown,
    /// This number.
    Constant(u64),
    /// An address in the function's own frame, relative to the DWARF canonical frame address.
    Frame(i64),
    /// The distance from a per-cpu offset to some CPU's copy.
    LocalBase,
    /// A pointer.
    Pointer(Pointer),
}

impl Value {
    /// A number no object lies at: NULL and error pointers.
    fn is_no_object(self) -> bool {
        matches!(self, Self::Constant(n) if (n as i64).unsigned_abs() < 4096)
    }

    /// What holds whichever of the two it is. `size_of` gives a type's size in bytes.
    ///
    /// The result never says more than `self`, apart from NULL giving way to a pointer, so that
    /// repeated joins come to an end.
    pub fn join(self, other: Self, size_of: impl Fn(TypeId) -> Option<u64>) -> Self {
        if self == other {
            return self;
        }
        match (self, other) {
            (Self::Pointer(a), Self::Pointer(b)) if a.target == b.target => {
                let trust = a.trust.min(b.trust);
                if a.offset == b.offset {
                    return Self::Pointer(Pointer { trust, ..a });
                }
                // `p++` over an array: congruent offsets are the same place in another element.
                let size = size_of(a.target)
                    .and_then(|s| i64::try_from(s).ok())
                    .unwrap_or(0);
                if size > 0 && a.offset.wrapping_sub(b.offset).wrapping_rem(size) == 0 {
                    return Self::Pointer(Pointer {
                        trust: Trust::Guessed,
                        ..a
                    });
                }
                Self::Unknown
            }
            (Self::Pointer(_), b) if b.is_no_object() => self,
            (a, Self::Pointer(_)) if a.is_no_object() => other,
            _ => Self::Unknown,
        }
    }

    /// The value plus a known number of bytes.
    pub fn plus(self, bytes: i64) -> Self {
        match self {
            Self::Constant(n) => Self::Constant(n.wrapping_add(bytes as u64)),
            Self::Frame(at) => Self::Frame(at.wrapping_add(bytes)),
            Self::Pointer(p) => Self::Pointer(Pointer {
                offset: p.offset.wrapping_add(bytes),
                ..p
            }),
            Self::Unknown | Self::LocalBase => Self::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(target: u32, offset: i64) -> Value {
        Value::Pointer(Pointer {
            target: TypeId(target),
            offset,
            trust: Trust::Followed,
        })
    }

    fn check(a: Value, b: Value, expect: Value) {
        assert_eq!(a.join(b, |_| Some(16)), expect, "{a:?} {b:?}");
    }

    #[test]
    fn null_gives_way() {
        check(Value::Constant(0), pointer(1, 8), pointer(1, 8));
        check(pointer(1, 8), Value::Constant(-12i64 as u64), pointer(1, 8));
        check(
            pointer(1, 8),
            Value::Constant(0xffff_ffff_8200_0000),
            Value::Unknown,
        );
    }

    #[test]
    fn elements_of_an_array_keep_the_place() {
        let Value::Pointer(p) = pointer(1, 8).join(pointer(1, 24), |_| Some(16)) else {
            panic!("no longer a pointer");
        };
        assert_eq!((p.offset, p.trust), (8, Trust::Guessed));
    }

    #[test]
    fn different_types_cancel() {
        check(pointer(1, 0), pointer(2, 0), Value::Unknown);
        check(pointer(1, 0), pointer(1, 4), Value::Unknown);
    }
}
