//! Conversion between Rust fields and Parquet values: physical type, annotation, both directions.

use ::parquet::basic::LogicalType;
use ::parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use bytes::Bytes;

use crate::ids::{Addr, ContextId, RunId, SiteId};
use crate::model::{AccessKind, CoherenceEvent, RangeKind};

/// The value that Parquet stores for a `V`.
pub(super) type StoredValue<V> = <<V as ColumnValue>::Physical as DataType>::T;

/// A field type of the row structs.
pub(super) trait ColumnValue: Sized + 'static {
    /// Parquet's physical type.
    type Physical: DataType;
    /// True if the column is `OPTIONAL`.
    const NULLABLE: bool = false;

    /// Returns the logical type for other tools; `None`: the physical type.
    fn annotation() -> Option<LogicalType>;

    /// The stored value; `None` is a null and comes from nullable columns only.
    fn to_stored(&self) -> Option<StoredValue<Self>>;

    /// Bytes of memory that a field with the stored value takes beside its row.
    fn text_bytes(_stored: &StoredValue<Self>) -> usize {
        0
    }

    /// The field for a stored value (`None` for a null); `None` if no field has it.
    fn from_stored(stored: Option<&StoredValue<Self>>) -> Option<Self>;
}

macro_rules! unsigned {
    ($($ty:ident: $physical:ident of $int:ident as $same_width:ident, $bits:literal;)*) => {$(
        impl ColumnValue for $ty {
            type Physical = $physical;

            fn annotation() -> Option<LogicalType> {
                Some(LogicalType::integer($bits, false))
            }

            fn to_stored(&self) -> Option<$int> {
                Some($same_width::from(*self).cast_signed())
            }

            fn from_stored(stored: Option<&$int>) -> Option<Self> {
                stored.and_then(|n| $ty::try_from(n.cast_unsigned()).ok())
            }
        }
    )*};
}

unsigned! {
    u8: Int32Type of i32 as u32, 8;
    u16: Int32Type of i32 as u32, 16;
    u32: Int32Type of i32 as u32, 32;
    u64: Int64Type of i64 as u64, 64;
}

/// Newtypes are stored as the number that they hold.
macro_rules! newtypes {
    ($($ty:ident: $number:ty;)*) => {$(
        impl ColumnValue for $ty {
            type Physical = <$number as ColumnValue>::Physical;

            fn annotation() -> Option<LogicalType> {
                <$number>::annotation()
            }

            fn to_stored(&self) -> Option<StoredValue<Self>> {
                self.0.to_stored()
            }

            fn from_stored(stored: Option<&StoredValue<Self>>) -> Option<Self> {
                <$number>::from_stored(stored).map(Self)
            }
        }
    )*};
}

newtypes! {
    RunId: u16;
    ContextId: u16;
    SiteId: u32;
    Addr: u64;
}

impl ColumnValue for bool {
    type Physical = BoolType;

    fn annotation() -> Option<LogicalType> {
        None
    }

    fn to_stored(&self) -> Option<bool> {
        Some(*self)
    }

    fn from_stored(stored: Option<&bool>) -> Option<Self> {
        stored.copied()
    }
}

impl ColumnValue for String {
    type Physical = ByteArrayType;

    fn annotation() -> Option<LogicalType> {
        Some(LogicalType::String)
    }

    fn to_stored(&self) -> Option<ByteArray> {
        Some(ByteArray::from(self.as_str()))
    }

    fn text_bytes(stored: &ByteArray) -> usize {
        stored.len()
    }

    fn from_stored(stored: Option<&ByteArray>) -> Option<Self> {
        let text = str::from_utf8(stored?.data()).ok()?;
        Some(text.to_owned())
    }
}

impl ColumnValue for Vec<u8> {
    type Physical = ByteArrayType;

    fn annotation() -> Option<LogicalType> {
        None
    }

    fn to_stored(&self) -> Option<ByteArray> {
        Some(ByteArray::from(self.clone()))
    }

    fn text_bytes(stored: &ByteArray) -> usize {
        stored.len()
    }

    fn from_stored(stored: Option<&ByteArray>) -> Option<Self> {
        stored.map(|bytes| bytes.data().to_vec())
    }
}

impl<V: ColumnValue> ColumnValue for Option<V> {
    type Physical = V::Physical;
    const NULLABLE: bool = true;

    fn annotation() -> Option<LogicalType> {
        V::annotation()
    }

    fn to_stored(&self) -> Option<StoredValue<V>> {
        self.as_ref().and_then(V::to_stored)
    }

    fn text_bytes(stored: &StoredValue<V>) -> usize {
        V::text_bytes(stored)
    }

    fn from_stored(stored: Option<&StoredValue<V>>) -> Option<Self> {
        match stored {
            None => Some(None),
            some => V::from_stored(some).map(Some),
        }
    }
}

/// Enumerations are stored by name, so that other tools show words.
macro_rules! named {
    ($($ty:ident { $($variant:ident = $name:literal,)* })*) => {$(
        impl ColumnValue for $ty {
            type Physical = ByteArrayType;

            fn annotation() -> Option<LogicalType> {
                Some(LogicalType::String)
            }

            fn to_stored(&self) -> Option<ByteArray> {
                let name: &'static str = match self {
                    $(Self::$variant => $name,)*
                };
                Some(ByteArray::from(Bytes::from_static(name.as_bytes())))
            }

            fn from_stored(stored: Option<&ByteArray>) -> Option<Self> {
                let name = str::from_utf8(stored?.data()).ok()?;
                match name {
                    $($name => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    )*};
}

named! {
    AccessKind {
        Read = "read",
        Write = "write",
        ReadWrite = "read-write",
    }
    CoherenceEvent {
        Read = "read",
        Write = "write",
        Upgrade = "upgrade",
    }
    RangeKind {
        Slab = "slab",
        PerCpu = "percpu",
        Image = "image",
        PageArray = "page-array",
        DirectMap = "direct-map",
        Vmalloc = "vmalloc",
        Stack = "stack",
        Heap = "heap",
        Tls = "tls",
        Named = "named",
    }
}
