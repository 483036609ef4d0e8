//! Functions that take a pointer to a struct, counted by struct.

use rustc_hash::FxHashMap;

use super::blob::{self, MalformedBtf, RECORD_BYTES};
use super::{BtfFile, BtfId};
use crate::Error;

impl BtfFile<'_> {
    /// Named structs with the number of parameters of functions that are pointers to them, in the order of the functions.
    /// A pointer to a const struct, and one by a typedef, does not count: pahole calls the others methods.
    ///
    /// # Errors
    /// Malformed BTF.
    pub fn method_counts(&self) -> Result<Vec<(String, u64)>, Error> {
        let mut rows: FxHashMap<BtfId, usize> = FxHashMap::default();
        let mut counts: Vec<(BtfId, u64)> = Vec::new();
        for id in self.own.ids() {
            for parameter in self.parameters_of_function(id)? {
                let Some(found) = self.pointed_struct(parameter)? else {
                    continue;
                };
                let row = *rows.entry(found).or_insert_with(|| {
                    counts.push((found, 0));
                    counts.len() - 1
                });
                counts[row].1 += 1;
            }
        }
        let named = counts.into_iter().map(|(id, count)| {
            let name = self.record(id)?.map_or(0, |record| record.name);
            Ok((self.text(name)?.into_owned(), count))
        });
        Ok(named.collect::<Result<_, MalformedBtf>>()?)
    }

    fn parameters_of_function(&self, id: BtfId) -> Result<Vec<BtfId>, MalformedBtf> {
        let function = self
            .record(id)?
            .filter(|record| record.kind == blob::KIND_FUNCTION);
        let Some(function) = function else {
            return Ok(Vec::new());
        };
        let prototype = BtfId(function.size_or_type);
        let record = self.record(prototype)?;
        let Some(record) = record.filter(|record| record.kind == blob::KIND_PROTOTYPE) else {
            return Ok(Vec::new());
        };
        let bytes = self.blob_of(prototype);
        let parameters = (0..record.count).map(|index| {
            let at = record.start + RECORD_BYTES + 8 * index;
            Ok(BtfId(bytes.u32(at + 4)?))
        });
        parameters.collect()
    }

    /// Struct with a name that `id` is a pointer to.
    fn pointed_struct(&self, id: BtfId) -> Result<Option<BtfId>, MalformedBtf> {
        let pointer = self
            .record(id)?
            .filter(|record| record.kind == blob::KIND_POINTER);
        let Some(pointer) = pointer else {
            return Ok(None);
        };
        let target = BtfId(pointer.size_or_type);
        let record = self.record(target)?;
        let named = record.filter(|record| record.kind == blob::KIND_STRUCT && record.name != 0);
        Ok(named.map(|_| target))
    }
}
