//! Looks at each page before the library decodes it.
//!
//! The library trusts what a page header says about counts and encodings: a forged count makes it
//! reserve memory for values that are not there, and an encoding that does not fit the column's
//! type, or a dictionary that is not there, makes it panic. Everything that a page may legitimately
//! be is said here.

use ::parquet::basic::{Encoding, Type as PhysicalType};
use ::parquet::column::page::{Page, PageMetadata, PageReader};
use ::parquet::errors::{ParquetError, Result};

/// Pages of one column chunk, refused unless they can be what this crate writes.
pub(super) struct CheckedPages {
    inner: Box<dyn PageReader>,
    physical: PhysicalType,
    rows_left: u64,
    dictionary_seen: bool,
}

impl CheckedPages {
    /// Wraps the pages of a column of `physical` values in a row group of `rows` rows.
    pub(super) fn new(inner: Box<dyn PageReader>, physical: PhysicalType, rows: u64) -> Self {
        Self {
            inner,
            physical,
            rows_left: rows,
            dictionary_seen: false,
        }
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
                ..
            } => {
                if *def_level_encoding != Encoding::RLE {
                    return Err(unexpected_page(format!(
                        "levels coded as {def_level_encoding}"
                    )));
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
        if values as usize > room {
            return Err(unexpected_page(format!(
                "dictionary of {values} values in {bytes} bytes"
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

fn unexpected_page(reason: String) -> ParquetError {
    ParquetError::General(format!("unexpected page: {reason}"))
}

impl PageReader for CheckedPages {
    fn get_next_page(&mut self) -> Result<Option<Page>> {
        let page = self.inner.get_next_page()?;
        if let Some(page) = &page {
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
