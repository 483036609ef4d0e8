//! Numbers that must not be mixed up: recordings, contexts, sites and addresses.
//!
//! ```
//! use relayout_profile::{Addr, SiteId};
//!
//! let access = Addr(0x1048);
//! let line = access.align_down(64);
//! assert_eq!((line, access - line), (Addr(0x1040), 8));
//! assert_eq!(SiteId(7).index(), 7);
//! ```

use std::fmt;
use std::ops::{Add, AddAssign, Div, Rem, Sub};

use serde::{Deserialize, Serialize};

/// Number of a recording among those merged into one profile, from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct RunId(pub u16);

/// Number of a context: a CPU of a kernel recording, a thread of a program.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[repr(transparent)]
pub struct ContextId(pub u16);

/// Index of a site in [`crate::Profile::sites`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct SiteId(pub u32);

/// Virtual address in the recorded guest or process. Addresses of different runs are unrelated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Addr(pub u64);

impl From<RunId> for usize {
    fn from(run: RunId) -> Self {
        run.0.into()
    }
}

impl From<ContextId> for usize {
    fn from(context: ContextId) -> Self {
        context.0.into()
    }
}

impl SiteId {
    /// Returns the number as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl Addr {
    /// Returns the last multiple of `bytes` that is not after this address: the start of its line
    /// or page.
    pub fn align_down(self, bytes: u64) -> Self {
        Self(self.0 - self.0 % bytes)
    }

    /// Returns the address `bytes` further on, or the last address.
    pub fn saturating_add(self, bytes: u64) -> Self {
        Self(self.0.saturating_add(bytes))
    }

    /// Returns the address `bytes` further on, unless there is none.
    pub fn checked_add(self, bytes: u64) -> Option<Self> {
        self.0.checked_add(bytes).map(Self)
    }

    /// Returns the address `bytes` further on, or back where negative, unless there is none.
    pub fn checked_add_signed(self, bytes: i64) -> Option<Self> {
        self.0.checked_add_signed(bytes).map(Self)
    }

    /// Returns whether the address is in a kernel's half of the address space: the upper one, on x86-64 and on 64-bit Arm.
    pub fn is_kernel(self) -> bool {
        self.0 >= 1 << 63
    }

    /// Returns whether the address is aligned to `bytes`.
    pub fn is_multiple_of(self, bytes: u64) -> bool {
        self.0.is_multiple_of(bytes)
    }

    /// Returns the address `bytes` further on, modulo 2^64.
    pub fn wrapping_add(self, bytes: u64) -> Self {
        Self(self.0.wrapping_add(bytes))
    }

    /// Returns the bytes from `start` to this address, unless it lies before `start`.
    pub fn checked_sub(self, start: Self) -> Option<u64> {
        self.0.checked_sub(start.0)
    }

    /// Returns the bytes from `start` to this address, 0 if it lies before `start`.
    pub fn saturating_sub(self, start: Self) -> u64 {
        self.0.saturating_sub(start.0)
    }

    /// Returns the bytes from `start` to this address, modulo 2^64.
    pub fn wrapping_sub(self, start: Self) -> u64 {
        self.0.wrapping_sub(start.0)
    }
}

impl Add<u64> for Addr {
    type Output = Self;

    fn add(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

impl AddAssign<u64> for Addr {
    fn add_assign(&mut self, bytes: u64) {
        self.0 += bytes;
    }
}

impl Sub<u64> for Addr {
    type Output = Self;

    fn sub(self, bytes: u64) -> Self {
        Self(self.0 - bytes)
    }
}

impl Sub for Addr {
    type Output = u64;

    fn sub(self, start: Self) -> u64 {
        self.0 - start.0
    }
}

impl Div<u64> for Addr {
    type Output = u64;

    fn div(self, bytes: u64) -> u64 {
        self.0 / bytes
    }
}

impl Rem<u64> for Addr {
    type Output = u64;

    fn rem(self, bytes: u64) -> u64 {
        self.0 % bytes
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for ContextId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for SiteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::LowerHex for Addr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::LowerHex::fmt(&self.0, f)
    }
}
