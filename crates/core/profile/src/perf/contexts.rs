//! Contexts of samples: threads of a program, CPUs of a kernel.

use std::collections::BTreeSet;

use relayout_perf_data::MemorySample;

use super::{ImportError, ImportTarget};
use crate::ids::ContextId;

/// Numbers of contexts: threads by their number, CPUs as they are.
pub(super) struct SampleContexts {
    /// Threads, ascending; none for the kernel.
    pub threads: Vec<u32>,
    /// Number of contexts.
    pub count: u16,
}

impl SampleContexts {
    pub fn new(samples: &[MemorySample], target: ImportTarget) -> Result<Self, ImportError> {
        let max = usize::from(u16::MAX);
        let (threads, count, counted) = match target {
            ImportTarget::Process(_) => {
                let threads: BTreeSet<u32> = samples.iter().map(|sample| sample.tid).collect();
                let threads: Vec<u32> = threads.into_iter().collect();
                let count = threads.len();
                (threads, count, "threads")
            }
            ImportTarget::Kernel => {
                let last = samples
                    .iter()
                    .map(|sample| sample.cpu as usize)
                    .max()
                    .unwrap_or(0);
                (Vec::new(), last.saturating_add(1), "CPUs")
            }
        };
        let too_many = ImportError::TooMany {
            what: counted,
            count,
            max,
        };
        let count = u16::try_from(count).map_err(|_| too_many)?;
        Ok(Self { threads, count })
    }

    pub fn context_of(&self, sample: &MemorySample) -> ContextId {
        let number = match self.threads.binary_search(&sample.tid) {
            Ok(place) => place,
            Err(_) => sample.cpu as usize,
        };
        ContextId(u16::try_from(number).expect("threads and CPUs were counted"))
    }
}
