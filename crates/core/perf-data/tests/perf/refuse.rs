//! Files without memory accesses are refused, with a remedy.

use relayout_perf_data::{Error, decode};

use crate::builder::*;

#[track_caller]
fn check(file: &[u8], expect: &str) {
    match decode(file) {
        Err(error) => assert!(error.to_string().contains(expect), "{error}"),
        Ok(found) => panic!("{} samples", found.samples.len()),
    }
}

#[test]
fn not_perf() {
    check(b"", "begins with nothing");
    check(
        b"\x7fELF\x02\x01\x01\0\0\0",
        "not a perf.data file: it begins with \\x7fELF",
    );
    check(b"PERFFILE........", "version 1");
    check(b"PERFILE2", "ends inside of its header");
    check(&File::pebs().bytes()[..90], "ends inside of its header");
}

#[test]
fn unsuitable_events() {
    let software = |sample_type| Attr {
        kind: 1,
        ..Attr::new("cpu-clock", sample_type, 1)
    };
    let mut without = File::new(vec![software(IP | TID | TIME | PERIOD)]);
    without.sample(Sample::default());
    check(
        &without.bytes(),
        "the events are cpu-clock. Record with `perf mem record`",
    );
    // As `perf record -d -e page-faults`: addresses, of which nothing more is said.
    let mut faults = File::new(vec![software(BASE)]);
    faults.sample(Sample {
        source: NOT_AVAILABLE,
        ..Sample::default()
    });
    check(&faults.bytes(), "the events are cpu-clock");
    // Without a description of events, by number.
    faults.features.clear();
    check(&faults.bytes(), "software:0x0");
}

#[test]
fn nothing_sampled() {
    check(&File::pebs().bytes(), "no samples");
    let mut file = File::pebs();
    file.attrs.clear();
    file.features.clear();
    check(&file.bytes(), "describes no event");
    check(&file.pipe(), "describes no event");
}

/// A file that was cut says so at every length, and never that nothing was sampled.
#[test]
fn cut_at_every_length() {
    let mut file = File::pebs();
    for _ in 0..3 {
        file.sample(Sample::default());
    }
    let whole = file.bytes();
    let field = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().unwrap());
    let (start, end) = (field(40), field(40) + field(48));
    let record = file.records.len() / 3;
    for length in 0..whole.len() {
        let named = format!("({length} of {end} bytes that its header names)");
        match decode(&whole[..length]) {
            Ok(found) => {
                let samples = (length - start as usize) / record;
                assert_eq!(found.samples.len(), samples.min(3), "{length}");
                assert_eq!(found.truncated, (length as u64) < end, "{length}");
            }
            Err(error @ Error::CutOff { .. }) => {
                assert!((start..end).contains(&(length as u64)), "{length}");
                let words = error.to_string();
                assert!(words.contains(&named), "{length}: {words}");
                assert!(words.contains("before its first memory sample"), "{words}");
            }
            Err(error) => {
                assert_ne!(error, Error::Empty, "{length}");
                assert!((length as u64) < start, "{length}: {error}");
            }
        }
    }
    // What perf wrote to a pipe names no length, but its last record is not whole.
    let mut file = File::pebs();
    file.sample(Sample::default());
    let pipe = file.pipe();
    let length = pipe.len() - 1;
    let words = format!("({length} bytes, inside of a record), before its first memory sample");
    check(&pipe[..length], &words.replace('(', "(after "));
}

/// The same of records that are compressed.
#[test]
fn cut_stream() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let mut file = File::pebs();
    for _ in 0..50 {
        file.sample(Sample::default());
    }
    let stream = compress_to_vec(&file.records[..], CompressionLevel::Fastest);
    file.compress(&stream, 3);
    let whole = file.bytes();
    for length in 0..whole.len() {
        if let Err(error) = decode(&whole[..length]) {
            assert_ne!(error, Error::Empty, "{length}");
        }
    }
}

#[test]
fn spe_not_decoded() {
    let mut file = File::spe();
    file.attrs.truncate(1);
    let auxtrace = [file.u64(4096), vec![0; 32]].concat();
    file.record(71, 0, &auxtrace);
    file.records.extend([0xff; 4096]);
    check(&file.bytes(), "4096 bytes of undecoded trace");
    check(&file.bytes(), "perf inject --itrace=M");
}

#[test]
fn ambiguous() {
    let mut file = File::new(vec![
        Attr::new("a", BASE, 1),
        Attr::new("b", BASE | WEIGHT, 2),
    ]);
    file.sample(Sample::default());
    check(&file.bytes(), "2 events whose samples cannot be told apart");
}

#[test]
fn samples_of_unknown_events_are_counted() {
    let mut file = File::pebs();
    file.sample(Sample::default());
    let mut other = file.clone();
    other.attrs[0].ids = vec![99];
    let mut stranger = other.clone();
    stranger.records.clear();
    stranger.sample(Sample::default());
    file.records.extend(stranger.records);
    let found = decode(&file.bytes()).expect("one is good");
    assert_eq!((found.samples.len(), found.unknown_event), (1, 1));
}

/// Sizes that are not the file's: an error, at once, without taking memory for them.
#[test]
fn hostile_sizes() {
    let whole = {
        let mut file = File::pebs();
        file.sample(Sample::default());
        file.bytes()
    };
    let with = |at: usize, value: u64| {
        let mut file = whole.clone();
        file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        file
    };
    let huge = [u64::MAX, u64::MAX / 2, 1 << 40];
    for value in huge {
        assert!(
            matches!(
                decode(&with(16, value)),
                Err(Error::Size { .. } | Error::NoEvents)
            ),
            "attr size"
        );
        assert!(
            matches!(decode(&with(24, value)), Err(Error::OutsideFile { .. })),
            "attrs offset"
        );
        assert!(
            matches!(decode(&with(32, value)), Err(Error::OutsideFile { .. })),
            "attrs size"
        );
        assert!(decode(&with(40, value)).is_err(), "data offset");
        assert!(
            decode(&with(48, value)).is_ok_and(|found| found.truncated),
            "data size"
        );
    }
    check(&with(16, 0), "size of an event's entry");
    // A record that is smaller than its own header.
    let data = u64::from_le_bytes(whole[40..48].try_into().unwrap()) as usize;
    let mut small = whole.clone();
    small[data + 6..data + 8].copy_from_slice(&4_u16.to_le_bytes());
    check(&small, "size of the record");
    // A call chain longer than the address space.
    let mut file = File::new(vec![Attr::new("a", BASE | CALLCHAIN, 1)]);
    file.sample(Sample::default());
    let chain = 8 + 8 * 6;
    file.records[chain..chain + 8].fill(0xff);
    check(&file.bytes(), "the events are a");
}

#[test]
fn a_stream_that_grows_without_end() {
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    let mut file = File::pebs();
    // FINISHED_ROUND, over and over.
    let rounds = file.encode(68, 0, &[]).repeat(10 << 20);
    let stream = compress_to_vec(&rounds[..], CompressionLevel::Fastest);
    file.compress(&stream, 8);
    check(&file.bytes(), "they decompress to more than 16777216 bytes");
    file.compress(b"no zstd at all", 1);
    check(&file.bytes(), "compressed records cannot be read");
}
