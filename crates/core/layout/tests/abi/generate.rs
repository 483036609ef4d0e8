//! Random structs with everything that changes a layout: attributes on members and on the type,
//! named and unnamed bitfields, `:0`, anonymous structs and unions, arrays without elements.

use std::fmt::Write as _;

use proptest::prelude::*;

/// Types of members; those after the first six are declared in [`PREAMBLE`].
const TYPES: [&str; 12] = [
    "unsigned char",
    "unsigned short",
    "int",
    "unsigned long long",
    "_Bool",
    "enum small",
    "long double",
    "double",
    "void *",
    "struct mixed",
    "struct squeezed",
    "lowered",
];

/// Number of [`TYPES`] that a bitfield can have. In C++, the width of an enum is not its own.
const BIT_TYPES: usize = 5;

/// Widths in bits of the types that a bitfield can have.
const BIT_WIDTHS: [u64; BIT_TYPES] = [8, 16, 32, 64, 1];

/// Declarations of the types.
pub const PREAMBLE: &str = "
#ifdef __cplusplus
#define _Bool bool
#endif
enum small { SMALL } __attribute__((packed));
struct mixed { unsigned char a; union { unsigned int b; unsigned char c[5]; }; };
struct squeezed { unsigned char a; unsigned long long b; int c : 3; } __attribute__((packed));
typedef unsigned long long lowered __attribute__((aligned(2)));
";

#[derive(Clone, Copy, Debug, Default)]
pub struct Attributes {
    pub packed: bool,
    pub aligned: Option<u64>,
}

#[derive(Clone, Debug)]
pub enum Field {
    Plain {
        ty: usize,
        count: Option<u64>,
        attributes: Attributes,
    },
    Bits {
        ty: usize,
        width: u64,
        attributes: Attributes,
    },
    /// Bitfield without a name.
    Unnamed { ty: usize, width: u64 },
    Anonymous {
        union: bool,
        fields: Vec<Field>,
        attributes: Attributes,
    },
}

#[derive(Clone, Debug)]
pub struct Struct {
    pub fields: Vec<Field>,
    pub attributes: Attributes,
    /// True for an array of unknown length at the end.
    pub flexible: bool,
}

impl Attributes {
    fn text(self) -> String {
        let packed = self.packed.then(|| "packed".to_owned());
        let aligned = self.aligned.map(|align| format!("aligned({align})"));
        let words: Vec<String> = packed.into_iter().chain(aligned).collect();
        match words.is_empty() {
            true => String::new(),
            false => format!(" __attribute__(({}))", words.join(", ")),
        }
    }
}

impl Struct {
    /// Definition as `struct tag`.
    pub fn declare(&self, tag: &str) -> String {
        self.declare_in(tag, 0..self.fields.len())
    }

    /// Definition with the fields in another order.
    pub fn declare_in(&self, tag: &str, order: impl IntoIterator<Item = usize>) -> String {
        let mut text = format!("struct {tag} {{ ");
        for index in order {
            self.fields[index].declare(&format!("f{index}"), &mut text);
        }
        if self.flexible {
            text.push_str("int last[]; ");
        }
        writeln!(text, "}}{};", self.attributes.text()).expect("strings take all text");
        text
    }
}

impl Field {
    /// Returns true if the debug information tells everything about the field. It does not contain
    /// `packed` and unnamed fields, and by GCC for ARM no alignments; `aligned` tells if it
    /// contains them.
    pub fn is_plain_to_see(&self, aligned: bool) -> bool {
        let seen = |attributes: &Attributes| {
            !attributes.packed && (aligned || attributes.aligned.is_none())
        };
        match self {
            Self::Plain { attributes, .. } | Self::Bits { attributes, .. } => seen(attributes),
            Self::Unnamed { .. } => false,
            Self::Anonymous {
                fields, attributes, ..
            } => seen(attributes) && fields.iter().all(|field| field.is_plain_to_see(aligned)),
        }
    }

    fn declare(&self, name: &str, text: &mut String) {
        let done = match self {
            Self::Plain {
                ty,
                count,
                attributes,
            } => {
                let count = count.map(|count| format!("[{count}]")).unwrap_or_default();
                write!(text, "{} {name}{count}{}; ", TYPES[*ty], attributes.text())
            }
            Self::Bits {
                ty,
                width,
                attributes,
            } => write!(
                text,
                "{} {name} : {width}{}; ",
                TYPES[*ty],
                attributes.text()
            ),
            Self::Unnamed { ty, width } => write!(text, "{} : {width}; ", TYPES[*ty]),
            Self::Anonymous {
                union,
                fields,
                attributes,
            } => {
                text.push_str(if *union { "union { " } else { "struct { " });
                for (index, field) in fields.iter().enumerate() {
                    field.declare(&format!("{name}_{index}"), text);
                }
                write!(text, "}}{}; ", attributes.text())
            }
        };
        done.expect("strings take all text");
    }
}

fn attributes(weight: f64) -> impl Strategy<Value = Attributes> {
    let align = (0u32..7).prop_map(|shift| 1 << shift);
    (
        proptest::bool::weighted(weight),
        proptest::option::weighted(weight, align),
    )
        .prop_map(|(packed, aligned)| Attributes { packed, aligned })
}

/// Field without fields inside.
fn leaf(bits_aligned: bool) -> impl Strategy<Value = Field> {
    let plain = (
        0..TYPES.len(),
        proptest::option::weighted(0.2, 0u64..6),
        attributes(0.1),
    )
        .prop_map(|(ty, count, attributes)| Field::Plain {
            ty,
            // Elements of an array cannot be aligned to more than their size, or to less.
            count: count.filter(|_| TYPES[ty] != "lowered"),
            attributes,
        });
    let width = |ty: usize| (Just(ty), 1..=BIT_WIDTHS[ty]);
    let bits = ((0..BIT_TYPES).prop_flat_map(width), attributes(0.05)).prop_map(
        move |((ty, width), mut attributes)| {
            attributes.aligned = attributes.aligned.filter(|_| bits_aligned);
            Field::Bits {
                ty,
                width,
                attributes,
            }
        },
    );
    let unnamed = (0..BIT_TYPES)
        .prop_flat_map(|ty| (Just(ty), prop_oneof![Just(0), 1..=BIT_WIDTHS[ty]]))
        .prop_map(|(ty, width)| Field::Unnamed { ty, width });
    prop_oneof![4 => plain, 3 => bits, 1 => unnamed]
}

fn field(bits_aligned: bool) -> impl Strategy<Value = Field> {
    let anonymous = (
        any::<bool>(),
        proptest::collection::vec(leaf(bits_aligned), 1..4),
        attributes(0.1),
    )
        .prop_map(|(union, fields, attributes)| Field::Anonymous {
            union,
            fields,
            attributes,
        });
    prop_oneof![8 => leaf(bits_aligned), 1 => anonymous]
}

/// Random struct. With `bits_aligned`, bitfields may have `aligned`. GCC and Clang then differ for
/// less than the alignment of the type: GCC still keeps such bitfields within a unit.
pub fn any_struct(bits_aligned: bool) -> impl Strategy<Value = Struct> {
    (
        proptest::collection::vec(field(bits_aligned), 1..10),
        attributes(0.15),
        proptest::bool::weighted(0.1),
    )
        .prop_map(|(fields, attributes, flexible)| {
            let takes_room = |field: &Field| match field {
                Field::Plain { count, .. } => *count != Some(0),
                Field::Bits { .. } => true,
                Field::Unnamed { .. } | Field::Anonymous { .. } => false,
            };
            Struct {
                // C demands a named member beside it.
                flexible: flexible && fields.iter().any(takes_room),
                fields,
                attributes,
            }
        })
}
