//! The head of a `perf.data` file: where its parts are, which events it has, who recorded it.
//!
//! After `tools/perf/Documentation/perf.data-file-format.txt`. What perf wrote to a pipe has only a
//! magic number, and the rest as records ([`super::records`]).

use rustc_hash::FxHashMap;

use super::attr::PerfEventAttr;
use super::bytes::{ByteOrder, ByteReader, lower_hex, text_until_zero};
use super::error::Error;

/// Bytes of `perf_pipe_file_header`, which `perf_header` begins with.
const PIPE_HEADER_BYTES: u64 = 16;
/// `perf_file_section`.
const SECTION_BYTES: u64 = 16;

/// Maximum length of an event's name; the rest is cut off.
const EVENT_NAME_CHARS: usize = 200;

/// Numbers of feature sections.
pub(super) mod feature {
    pub const BUILD_ID: u32 = 2;
    pub const OSRELEASE: u32 = 4;
    pub const VERSION: u32 = 5;
    pub const ARCH: u32 = 6;
    pub const CPUDESC: u32 = 8;
    pub const CMDLINE: u32 = 11;
    pub const EVENT_DESC: u32 = 12;
    pub const PMU_MAPPINGS: u32 = 16;
    pub const CACHE: u32 = 20;
    pub const MAX: u32 = 256;
}

/// An event as the file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventAttr {
    pub attr: PerfEventAttr,
    pub ids: Vec<u64>,
    pub name: Option<String>,
}

/// Head of the file.
#[derive(Debug)]
pub(super) struct PerfHeader {
    pub order: ByteOrder,
    pub events: Vec<EventAttr>,
    /// Records: from here ...
    pub data_start: u64,
    /// ... to here.
    pub data_end: u64,
    /// The data ends before it should.
    pub cut: bool,
    /// The end of the data that the header names; `None` where it names none.
    pub named_end: Option<u64>,
}

/// Origin of the recording: machine, kernel and command, from feature sections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingOrigin {
    /// `uname -m`.
    pub arch: String,
    /// `uname -r`.
    pub release: String,
    /// perf's version.
    pub perf: String,
    /// Name of the processor.
    pub cpu: String,
    /// perf's command line.
    pub command: Vec<String>,
    /// Bytes of a cache line; `None` where the file does not say.
    pub line_bytes: Option<u32>,
    /// Build ids by path, lower-case hex.
    pub build_ids: FxHashMap<String, String>,
    /// Names of events.
    pub(super) event_names: Vec<String>,
    /// Indices of `event_names`, by id.
    pub(super) event_ids: FxHashMap<u64, usize>,
    /// Names of PMUs, by type.
    pub(super) pmus: FxHashMap<u32, String>,
}

impl PerfHeader {
    /// Reads the head of `file`, and what its feature sections say into `origin`.
    pub fn parse(file: &[u8], origin: &mut RecordingOrigin) -> Result<Self, Error> {
        let order = byte_order(file)?;
        let truncated = Error::Truncated {
            part: "header",
            offset: 0,
        };
        let mut r = ByteReader::new(file.get(8..).unwrap_or_default(), order);
        let size = r.u64().ok_or(truncated.clone())?;
        let file_bytes = file.len() as u64;
        if size == PIPE_HEADER_BYTES {
            return Ok(Self {
                order,
                events: Vec::new(),
                data_start: PIPE_HEADER_BYTES,
                data_end: file_bytes,
                cut: false,
                named_end: None,
            });
        }
        let attr_bytes = r.u64().ok_or(truncated.clone())?;
        let mut section = || Some((r.u64()?, r.u64()?));
        let attrs = section().ok_or(truncated.clone())?;
        let data = section().ok_or(truncated.clone())?;
        section().ok_or(truncated.clone())?;
        let mut features = [0; 4];
        for word in &mut features {
            *word = r.u64().ok_or(truncated.clone())?;
        }
        let parts = FileSections { file, order };
        let events = parts.event_attrs(attrs, attr_bytes)?;
        // While it records, perf leaves the size 0: then what is there counts, without features.
        let (start, bytes) = data;
        let end = start.saturating_add(bytes);
        let cut = bytes == 0 || end > file_bytes;
        if cut {
            let data_end = file_bytes;
            return Ok(Self {
                order,
                events,
                data_start: start.min(data_end),
                data_end,
                cut,
                named_end: (bytes > 0).then_some(end),
            });
        }
        parts.read_features(end, features, origin);
        Ok(Self {
            order,
            events,
            data_start: start,
            data_end: end,
            cut,
            named_end: Some(end),
        })
    }
}

fn byte_order(file: &[u8]) -> Result<ByteOrder, Error> {
    match file.get(..8) {
        Some(b"PERFILE2") => Ok(ByteOrder::Little),
        Some(b"2ELIFREP") => Ok(ByteOrder::Big),
        Some(b"PERFFILE" | b"ELIFFREP") => Err(Error::Version1),
        _ => {
            let found = &file[..file.len().min(8)];
            let found = if found.is_empty() {
                "nothing".into()
            } else {
                found.escape_ascii().to_string()
            };
            Err(Error::NotPerfData { found })
        }
    }
}

/// Parts of a file, by offset and size.
struct FileSections<'a> {
    file: &'a [u8],
    order: ByteOrder,
}

impl<'a> FileSections<'a> {
    fn section_bytes(
        &self,
        part: &'static str,
        (offset, bytes): (u64, u64),
    ) -> Result<&'a [u8], Error> {
        let range = usize::try_from(offset).ok().zip(offset.checked_add(bytes));
        let found = range.and_then(|(start, end)| self.file.get(start..usize::try_from(end).ok()?));
        found.ok_or(Error::OutsideFile {
            part,
            offset,
            bytes,
            file_bytes: self.file.len() as u64,
        })
    }

    /// An array of attributes, each followed by the section that holds its ids.
    fn event_attrs(&self, section: (u64, u64), each: u64) -> Result<Vec<EventAttr>, Error> {
        let bytes = self.section_bytes("section of events", section)?;
        let size = Error::Size {
            part: "an event's entry",
            offset: section.0,
            bytes: each,
        };
        let each_bytes = usize::try_from(each).map_err(|_| size.clone())?;
        let attr_bytes = each
            .checked_sub(SECTION_BYTES)
            .filter(|&b| b > 0)
            .ok_or(size)?;
        let mut events = Vec::new();
        for (n, entry) in bytes.chunks_exact(each_bytes).enumerate() {
            let offset = section.0 + n as u64 * each;
            let (attr, _) =
                PerfEventAttr::parse(&entry[..attr_bytes as usize], self.order, offset)?;
            let mut rest = ByteReader::new(&entry[attr_bytes as usize..], self.order);
            let place = rest.u64().zip(rest.u64()).unwrap_or_default();
            let mut ids = ByteReader::new(
                self.section_bytes("list of an event's ids", place)?,
                self.order,
            );
            let ids = std::iter::from_fn(|| ids.u64()).collect();
            events.push(EventAttr {
                attr,
                ids,
                name: None,
            });
        }
        Ok(events)
    }

    /// One section for each bit that is set, listed from `at`. They only tell of the recording, so
    /// that what does not fit is passed over.
    fn read_features(&self, at: u64, bits: [u64; 4], origin: &mut RecordingOrigin) {
        let set = (0..feature::MAX).filter(|n| bits[*n as usize / 64] >> (n % 64) & 1 != 0);
        let Some(list) = usize::try_from(at).ok().and_then(|at| self.file.get(at..)) else {
            return;
        };
        let mut list = ByteReader::new(list, self.order);
        for number in set {
            let Some(place) = list.u64().zip(list.u64()) else {
                return;
            };
            if let Ok(bytes) = self.section_bytes("feature", place) {
                origin.read_feature(number, bytes, self.order);
            }
        }
    }
}

impl RecordingOrigin {
    /// Takes in one feature section; what is damaged or not known is passed over.
    pub(super) fn read_feature(&mut self, number: u32, bytes: &[u8], order: ByteOrder) {
        let mut r = ByteReader::new(bytes, order);
        let string = |r: &mut ByteReader| r.string().unwrap_or_default();
        match number {
            feature::OSRELEASE => self.release = string(&mut r),
            feature::VERSION => self.perf = string(&mut r),
            feature::ARCH => self.arch = string(&mut r),
            feature::CPUDESC => self.cpu = string(&mut r),
            feature::CMDLINE => {
                let count = r.u32().unwrap_or(0);
                self.command = (0..count).map_while(|_| r.string()).collect();
            }
            feature::BUILD_ID => self.read_build_ids(r, order),
            feature::EVENT_DESC => drop(self.read_event_desc(r)),
            feature::CACHE => self.line_bytes = read_line_bytes(r),
            feature::PMU_MAPPINGS => {
                let count = r.u32().unwrap_or(0);
                let pairs = (0..count).map_while(|_| r.u32().zip(r.string()));
                self.pmus.extend(pairs);
            }
            _ => {}
        }
    }

    /// A sequence of `build_id_event`, with headers like records'.
    fn read_build_ids(&mut self, mut r: ByteReader, order: ByteOrder) {
        while !r.is_empty() {
            let mut head = r;
            let (Some(_), Some(_), Some(size)) = (head.u32(), head.u16(), head.u16()) else {
                return;
            };
            let Some(event) = r.take_bytes(size.into()).and_then(|event| event.get(8..)) else {
                return;
            };
            self.read_build_id(ByteReader::new(event, order));
        }
    }

    /// The body of a `build_id_event`: 20 bytes, and their number where it is less.
    pub(super) fn read_build_id(&mut self, mut r: ByteReader) -> Option<()> {
        r.skip(4)?;
        let id = r.take_bytes(20)?;
        let bytes = r.u8()?;
        r.skip(3)?;
        let bytes = if (1..20).contains(&bytes) {
            bytes.into()
        } else {
            20
        };
        self.build_ids
            .insert(text_until_zero(r.remaining()), lower_hex(&id[..bytes]));
        Some(())
    }

    fn read_event_desc(&mut self, mut r: ByteReader) -> Option<()> {
        let count = r.u32()?;
        let attr_bytes = r.u32()?;
        for _ in 0..count {
            r.skip(attr_bytes.into())?;
            let ids = r.u32()?;
            let name = r.string()?.chars().take(EVENT_NAME_CHARS).collect();
            self.event_names.push(name);
            for _ in 0..ids {
                self.event_ids.insert(r.u64()?, self.event_names.len() - 1);
            }
        }
        Some(())
    }
}

/// The line size of the first cache in the list; all have the same.
fn read_line_bytes(mut r: ByteReader) -> Option<u32> {
    let _version_count_and_level = (r.u32()?, r.u32()?, r.u32()?);
    let fits = |bytes: &u32| bytes.is_power_of_two() && (16..=4096).contains(bytes);
    r.u32().filter(fits)
}
