//! Looks at each page before the library decodes it.
//!
//! The library trusts what a page header says about counts and encodings: a forged count makes it
//! reserve memory for values that are not there, and an encoding that does not fit the column's
//! type, or a dictionary that is not there, makes it panic. Everything that a page may legitimately
//! be is said here.
//!
//! Pages are decompressed here for the same reason: the library fills a buffer of the size that a
//! header claims, up to 2 GiB, before it looks at the compressed bytes.

use std::sync::Arc;

use ::parquet::basic::{Compression, Encoding, Type as PhysicalType};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::serialized_reader::SerializedPageReader;
use bytes::Bytes;

/// Most bytes that a compressed byte stands for: Snappy copies up to 64 bytes by an element of 3.
const SNAPPY_RATIO_MAX: usize = 22;

/// Pages of one column chunk, refused unless they can be what this crate writes.
pub(super) struct CheckedPages {
    inner: SerializedPageReader<Bytes>,
    is_compressed: bool,
    physical: PhysicalType,
    rows: u64,
    rows_left: u64,
    dictionary_seen: bool,
}

impl CheckedPages {
    /// Opens the pages of `chunk`, a column of `physical` values in a row group of `rows` rows.
    pub(super) fn open(
        file: &Arc<Bytes>,
        chunk: &ColumnChunkMetaData,
        physical: PhysicalType,
        rows: u64,
    ) -> Result<Self> {
        let is_compressed = match chunk.compression() {
            Compression::UNCOMPRESSED => false,
            Compression::SNAPPY => true,
            other => return Err(unexpected_page(format!("compressed by {other}"))),
        };
        // The library hands out the pages as they are in the file.
        let chunk = chunk.clone().into_builder();
        let chunk = chunk.set_compression(Compression::UNCOMPRESSED).build()?;
        Ok(Self {
            inner: SerializedPageReader::new(Arc::clone(file), &chunk, rows as usize, None)?,
            is_compressed,
            physical,
            rows,
            rows_left: rows,
            dictionary_seen: false,
        })
    }

    /// Replaces the bytes of the page by what they decompress to.
    fn decompress_page(&self, page: &mut Page) -> Result<()> {
        match page {
            Page::DictionaryPage { buf, .. } | Page::DataPage { buf, .. } if self.is_compressed => {
                *buf = decompress_snappy(buf)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn validate_page(&mut self, page: &Page) -> Result<()> {
        match page {
            Page::DictionaryPage {
                buf,
                num_values,
                encoding,
                ..
            } => self.validate_dictionary(buf.len(), *num_values, *encoding),
            Page::DataPage {
                num_values,
                encoding,
                def_level_encoding,
                buf,
                ..
            } => {
                if *def_level_encoding != Encoding::RLE {
                    return Err(unexpected_page(format!(
                        "levels coded as {def_level_encoding}"
                    )));
                }
                if *encoding == Encoding::DELTA_BINARY_PACKED {
                    validate_delta_header(buf, *num_values)?;
                }
                self.validate_data(*num_values, *encoding)
            }
            Page::DataPageV2 { .. } => Err(unexpected_page("data page version 2".to_owned())),
        }
    }

    fn validate_dictionary(&mut self, bytes: usize, values: u32, encoding: Encoding) -> Result<()> {
        if !matches!(encoding, Encoding::PLAIN | Encoding::PLAIN_DICTIONARY) {
            return Err(unexpected_page(format!("dictionary coded as {encoding}")));
        }
        let room = match self.physical {
            PhysicalType::INT32 | PhysicalType::BYTE_ARRAY => bytes / 4,
            PhysicalType::INT64 => bytes / 8,
            other => return Err(unexpected_page(format!("dictionary of {other}"))),
        };
        if values as usize > room || u64::from(values) > self.rows {
            return Err(unexpected_page(format!(
                "dictionary of {values} values in {bytes} bytes for {} rows",
                self.rows
            )));
        }
        self.dictionary_seen = true;
        Ok(())
    }

    fn validate_data(&mut self, values: u32, encoding: Encoding) -> Result<()> {
        let fits = match encoding {
            Encoding::PLAIN => true,
            Encoding::RLE => self.physical == PhysicalType::BOOLEAN,
            Encoding::RLE_DICTIONARY | Encoding::PLAIN_DICTIONARY => self.dictionary_seen,
            Encoding::DELTA_BINARY_PACKED => {
                matches!(self.physical, PhysicalType::INT32 | PhysicalType::INT64)
            }
            _ => false,
        };
        if !fits {
            return Err(unexpected_page(format!(
                "{} values coded as {encoding}",
                self.physical
            )));
        }
        self.rows_left = self
            .rows_left
            .checked_sub(u64::from(values))
            .ok_or_else(|| {
                unexpected_page(format!("{values} values, more than the row group has left"))
            })?;
        Ok(())
    }
}

/// Verifies that the header of delta-coded values (bytes of a block, parts of a block, number of
/// values) says as many values as the page has: of none, the library decodes the first. Columns with
/// levels are not coded so.
fn validate_delta_header(bytes: &[u8], values: u32) -> Result<()> {
    let mut rest = bytes.iter();
    let mut next_number = || {
        let mut number = 0_u64;
        for (byte, shift) in rest.by_ref().zip((0..u64::BITS).step_by(7)) {
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    };
    let header = [next_number(), next_number(), next_number()];
    if header[2] == Some(values.into()) {
        return Ok(());
    }
    Err(unexpected_page(format!(
        "{values} delta-coded values whose header says otherwise"
    )))
}

fn decompress_snappy(compressed: &[u8]) -> Result<Bytes> {
    let bytes = snap::raw::decompress_len(compressed)?;
    if bytes > compressed.len().saturating_mul(SNAPPY_RATIO_MAX) {
        return Err(unexpected_page(format!(
            "{bytes} bytes compressed to {}",
            compressed.len()
        )));
    }
    let mut decompressed = vec![0; bytes];
    if bytes > 0 {
        snap::raw::Decoder::new().decompress(compressed, &mut decompressed)?;
    }
    Ok(decompressed.into())
}

fn unexpected_page(reason: String) -> ParquetError {
    ParquetError::General(format!("unexpected page: {reason}"))
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let mut page = self.inner.get_next_page()?;
        if let Some(page) = &mut page {
            self.decompress_page(page)?;
            self.validate_page(page)?;
        }
        Ok(page)
    }

    fn peek_next_page(&mut self) -> Result<Option<PageMetadata>> {
        self.inner.peek_next_page()
    }

    fn skip_next_page(&mut self) -> Result<()> {
        self.inner.skip_next_page()
    }
}

impl Iterator for CheckedPages {
    type Item = Result<Page>;

    fn next(&mut self) -> Option<Self::Item> {
        self.get_next_page().transpose()
    }
}
