//! A past access, in as few bytes as naming it takes.

/// An access as the shadow remembers it: enough to name it as the other side of a conflict.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct PastAccess {
    pub site: u32,
    pub offset: u8,
    pub size: u8,
    pub context: u8,
    pub access: u8,
}

impl PastAccess {
    #[inline]
    pub fn to_u64(self) -> u64 {
        u64::from(self.site)
            | u64::from(self.offset) << 32
            | u64::from(self.size) << 40
            | u64::from(self.context) << 48
            | u64::from(self.access) << 56
    }

    pub fn from_u64(n: u64) -> Self {
        Self {
            site: n as u32,
            offset: (n >> 32) as u8,
            size: (n >> 40) as u8,
            context: (n >> 48) as u8,
            access: (n >> 56) as u8,
        }
    }
}
