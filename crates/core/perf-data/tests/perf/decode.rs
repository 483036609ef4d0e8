//! Decoding returns the written samples, in every form that perf has.

use relayout_perf_data::{DataSource, PerfRecording, decode};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use crate::builder::*;

fn read(file: &[u8]) -> PerfRecording {
    decode(file).unwrap_or_else(|error| panic!("{error}"))
}

/// Writes one sample with all fields distinct and reads it again.
#[track_caller]
fn check(mut file: File, event: usize) {
    let written = Sample {
        event,
        pc: 0x40_1234,
        pid: 7,
        tid: 8,
        time_ns: 9_999,
        addr: 0x7fff_1234_5678,
        cpu: 3,
        period: 4_001,
        weight: 321,
        source: LOAD_HITM,
    };
    file.sample(written);
    let (ordinary, piped) = (read(&file.bytes()), read(&file.pipe()));
    for found in [&ordinary, &piped] {
        let [sample] = &found.samples[..] else {
            panic!("{} samples", found.samples.len());
        };
        assert_eq!(sample.pc, written.pc);
        assert_eq!((sample.pid, sample.tid, sample.cpu), (7, 8, 3));
        assert_eq!(
            (sample.time_ns, sample.addr),
            (written.time_ns, written.addr)
        );
        assert_eq!(
            (sample.period, sample.weight),
            (written.period, written.weight)
        );
        assert_eq!(sample.source, DataSource(written.source));
        assert_eq!(sample.event as usize, event);
        assert_eq!(found.events[event].name, file.attrs[event].name);
        assert!(!found.truncated);
        assert_eq!(found.malformed, 0);
    }
    assert_eq!(ordinary.samples, piped.samples);
    assert_eq!(ordinary.origin, piped.origin);
}

#[test]
fn machines() {
    check(File::pebs(), 0);
    check(File::pebs(), 1);
    check(File::ibs(), 0);
    check(File::spe(), 2);
}

#[test]
fn both_byte_orders() {
    // A pipe's magic number is in the builder's little-endian form only.
    let mut file = File::pebs().big_endian();
    file.mmap2(100, (0x40_0000, 0x2000, 0x1000), "/bin/x", 20);
    file.sample(Sample {
        time_ns: 77,
        source: STORE,
        event: 1,
        ..Sample::default()
    });
    let found = read(&file.bytes());
    assert_eq!(found.samples[0].time_ns, 77);
    assert!(found.samples[0].source.is_store());
    assert_eq!(
        (found.maps[0].start, found.maps[0].file_offset),
        (0x40_0000, 0x1000)
    );
    // From the end of the record, which needs the flags of the attributes.
    assert_eq!(found.maps[0].time_ns, 20);
    assert_eq!(found.origin.arch, "s390x");
}

/// Every field that a sample can have before the ones that are needed.
#[test]
fn fields_between() {
    let fields = [
        READ,
        CALLCHAIN,
        RAW,
        BRANCH_STACK,
        REGS_USER,
        STACK_USER,
        ID,
        STREAM_ID,
    ];
    for field in fields {
        check(
            File::new(vec![Attr::new("one", BASE | WEIGHT | field, 1)]),
            0,
        );
    }
    let all = fields
        .iter()
        .fold(BASE | WEIGHT_STRUCT | PHYS_ADDR | IDENTIFIER, |all, f| {
            all | f
        });
    check(File::new(vec![Attr::new("all", all, 1)]), 0);
}

/// Several events by `PERF_SAMPLE_ID`, which older perf used, and one event without any id.
#[test]
fn ids() {
    let events = |extra| {
        vec![
            Attr::new("a", BASE | WEIGHT | extra, 1),
            Attr::new("b", BASE | WEIGHT | extra, 2),
        ]
    };
    check(File::new(events(ID)), 0);
    check(File::new(events(ID)), 1);
    check(File::new(events(IDENTIFIER)), 1);
    check(File::new(vec![Attr::new("a", BASE | WEIGHT, 1)]), 0);
}

#[test]
fn a_fixed_period_is_the_attributes() {
    let without = BASE & !PERIOD | WEIGHT;
    let mut fixed = File::new(vec![Attr {
        period: 5000,
        ..Attr::new("fixed", without, 1)
    }]);
    fixed.sample(Sample::default());
    assert_eq!(read(&fixed.bytes()).samples[0].period, 5000);
    let attr = Attr {
        period: 4000,
        freq: true,
        ..Attr::new("frequency", without, 1)
    };
    let mut frequency = File::new(vec![attr]);
    frequency.sample(Sample::default());
    assert_eq!(
        read(&frequency.bytes()).samples[0].period,
        1,
        "4000 is a frequency"
    );
}

#[test]
fn what_was_lost_is_counted() {
    let mut file = File::pebs();
    file.sample(Sample::default()).lost(17).lost(3);
    let mut throttle = file.clone();
    throttle.record(5, 0, &[0; 24]);
    // LOST_SAMPLES
    let count = throttle.u64(5);
    throttle.record(13, 0, &[count, vec![0; 40]].concat());
    assert_eq!(read(&file.bytes()).lost, 20);
    let found = read(&throttle.bytes());
    assert_eq!((found.lost, found.throttled), (25, 1));
}

#[test]
fn mappings_names_and_build_ids() {
    let mut file = File::pebs();
    let id: [u8; 20] = std::array::from_fn(|n| n as u8);
    file.mmap2_build_id(100, (0x1000, 0x1000, 0), "/lib/a.so", &id);
    file.mmap2(100, (0x5000, 0x1000, 0x2000), "/lib/b.so", 5);
    file.comm(100, 100, "bench", true, 3)
        .fork(100, 100, 101, 100, 9);
    file.sample(Sample::default());
    let mut event = [file.u32(u32::MAX), id.to_vec(), vec![20, 0, 0, 0]].concat();
    event.extend(b"/lib/b.so\0\0\0\0\0\0\0");
    let event = file.encode(67, 2, &event);
    file.features.push((2, event));
    file.features.sort_by_key(|feature| feature.0);
    let found = read(&file.bytes());
    let hex = "000102030405060708090a0b0c0d0e0f10111213";
    assert_eq!(found.maps[0].build_id, hex);
    assert_eq!(found.maps[1].inode, Some(4242));
    assert_eq!(found.origin.build_ids["/lib/b.so"], hex);
    assert_eq!(
        (found.names[0].name.as_str(), found.names[0].exec),
        ("bench", true)
    );
    assert_eq!((found.forks[0].tid, found.forks[0].parent_tid), (101, 100));
    assert_eq!(found.origin.command, ["perf", "mem", "record", "./bench"]);
    assert_eq!(
        (found.origin.perf.as_str(), found.origin.arch.as_str()),
        ("6.1.187", "x86_64")
    );
}

/// The frame as encoders end it, and as perf leaves it: flushed, without a last block.
#[test]
fn compressed() {
    let mut file = File::pebs();
    ping_pong(&mut file, 2000);
    let plain = read(&file.bytes());
    let stream = compress_to_vec(&file.records[..], CompressionLevel::Fastest);
    for pieces in [1, 7, 100] {
        let mut compressed = file.clone();
        compressed.compress(&stream, pieces.max(stream.len() / 60_000 + 1));
        let found = read(&compressed.bytes());
        assert_eq!(found, plain, "{pieces} pieces");
    }
    let mut cut = file.clone();
    cut.compress(&stream[..stream.len() / 2], 20);
    let found = read(&cut.bytes());
    assert!(found.truncated);
    assert!(!found.samples.is_empty() && found.samples.len() < plain.samples.len());
    assert_eq!(found.samples[..], plain.samples[..found.samples.len()]);
}

/// Cut anywhere, there is an error, or a part of the samples and word of it.
#[test]
fn cut_off() {
    let mut file = File::pebs();
    ping_pong(&mut file, 5);
    let whole = file.bytes();
    let all = read(&whole);
    for bytes in 0..whole.len() {
        if let Ok(found) = decode(&whole[..bytes]) {
            let samples = found.samples.len();
            assert_eq!(found.samples[..], all.samples[..samples], "{bytes} bytes");
            assert!(
                found.truncated || samples == all.samples.len(),
                "{bytes} bytes"
            );
        }
    }
    // perf killed while it recorded: the size of the data is still 0.
    let mut killed = whole.clone();
    killed[48..56].fill(0);
    let found = read(&killed);
    assert!(found.truncated);
    assert_eq!(found.samples[..], all.samples[..]);
}

#[test]
fn spe_operations_count_once() {
    let mut file = File::spe();
    file.sample(Sample {
        event: 1,
        source: LOAD_PEER,
        ..Sample::default()
    });
    file.sample(Sample {
        event: 2,
        source: LOAD_PEER,
        ..Sample::default()
    });
    let found = read(&file.bytes());
    assert_eq!((found.samples.len(), found.repeated), (1, 1));
    assert!(found.samples[0].source.is_hitm());
}
