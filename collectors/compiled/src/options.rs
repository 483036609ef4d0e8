//! Options of the runtime: `RELAYOUT_OPTIONS=key=value,key=value`.

use std::ffi::CStr;

/// Options that the host passed.
#[derive(Clone, Copy)]
pub struct Options {
    /// Burst records in all, at most; `None` for the shadow's default.
    pub bursts: Option<u64>,
    /// Count accesses by granule and site on all lines, not only on those that several contexts
    /// use.
    pub all_counts: bool,
    /// Accesses of a thread between calls of `sched_yield`, on average; 0 for none.
    pub yield_every: u32,
    pub seed: u64,
    /// Find out which stores are silent.
    pub values: bool,
}

impl Options {
    /// Parses the options. Unknown ones are named on standard error and ignored, so that the
    /// program runs.
    pub fn parse(text: Option<&CStr>) -> Self {
        let mut options = Self {
            bursts: None,
            all_counts: false,
            yield_every: 0,
            seed: 0,
            values: false,
        };
        let bytes = text.map_or(&[][..], CStr::to_bytes);
        for pair in bytes.split(|&b| b == b',').filter(|p| !p.is_empty()) {
            if options.set(pair).is_none() {
                crate::sys::complain(&[b"RELAYOUT_OPTIONS: not understood: ", pair]);
            }
        }
        options
    }

    fn set(&mut self, pair: &[u8]) -> Option<()> {
        let at = pair.iter().position(|&b| b == b'=')?;
        let (key, value) = (&pair[..at], &pair[at + 1..]);
        match key {
            b"bursts" => self.bursts = Some(number(value)?),
            b"yield" => self.yield_every = number(value)?.try_into().ok()?,
            b"seed" => self.seed = number(value)?,
            b"values" => self.values = number(value)? != 0,
            b"counts" => {
                self.all_counts = match value {
                    b"shared" => false,
                    b"all" => true,
                    _ => return None,
                }
            }
            _ => return None,
        }
        Some(())
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then_some(())?;
        n.checked_mul(10)?.checked_add(digit.into())
    })
}
