use super::perf_data;
use crate::seeds::perf::{Attr, File, Order, ping_pong};

/// Bytes before the records: the processor, and masks of the attributes.
const HEAD_BYTES: usize = 17;
/// Kinds of records, samples more often than others.
const KINDS: [u32; 16] = [9, 9, 9, 9, 9, 9, 1, 2, 3, 5, 7, 10, 13, 67, 71, 80];

/// The bodies of records in a sound file of any processor, with any fields: sizes, ids and the
/// kernel's mapping are right, so that every byte reaches the decoder of samples.
pub fn perf_samples(data: &[u8]) {
    let Some((head, mut rest)) = data.split_at_checked(HEAD_BYTES) else {
        return;
    };
    let mut file = match head[0] % 4 {
        0 => File::pebs(),
        1 => File::ibs(),
        2 => File::spe(),
        _ => File::pebs().big_endian(),
    };
    let mask = |at: usize| {
        u64::from(u32::from_le_bytes([
            head[at],
            head[at + 1],
            head[at + 2],
            head[at + 3],
        ]))
    };
    for attr in &mut file.attrs {
        *attr = Attr {
            sample_type: attr.sample_type ^ mask(1),
            read_format: mask(5),
            branch_sample_type: mask(9),
            regs_user: mask(13),
            ..attr.clone()
        };
    }
    ping_pong(&mut file, 1);
    while let Some(([kind, misc, words], after)) = rest.split_first_chunk() {
        let (body, after) = after.split_at(after.len().min(usize::from(*words % 64) * 8));
        let kind = KINDS[usize::from(kind % 16)];
        let body = with_id(&file, kind, *misc, body);
        file.record(kind, u16::from(*misc) << 8, &body);
        rest = after;
    }
    perf_data(&match head[0] & 4 {
        0 => file.bytes(),
        _ => file.pipe(),
    });
}

/// Puts the id of an event where a sample with an identifier has it.
fn with_id(file: &File, kind: u32, number: u8, body: &[u8]) -> Vec<u8> {
    let attr = &file.attrs[usize::from(number) % file.attrs.len()];
    let mut body = body.to_vec();
    if let (9, Some(place)) = (kind, body.get_mut(..8))
        && attr.sample_type & crate::seeds::perf::IDENTIFIER != 0
    {
        place.copy_from_slice(&match file.order {
            Order::Little => attr.ids[0].to_le_bytes(),
            Order::Big => attr.ids[0].to_be_bytes(),
        });
    }
    body
}

/// Samples of each processor, alone and with each variable field.
pub fn perf_samples_seeds() -> Vec<Vec<u8>> {
    use crate::seeds::perf::{
        BRANCH_STACK, CALLCHAIN, ID, RAW, READ, REGS_USER, STACK_USER, STREAM_ID,
    };
    let body: Vec<u8> = (0..12)
        .flat_map(|n| (0x1000_0142_u64 + n * 8).to_le_bytes())
        .collect();
    let record = [&[0, 0, 12][..], &body].concat();
    let fields = [
        0,
        READ,
        CALLCHAIN,
        RAW,
        BRANCH_STACK,
        REGS_USER,
        STACK_USER,
        ID | STREAM_ID,
    ];
    let seed = |processor: u8, field: u64| {
        let masks = [field as u32, 0x1f, 1 << 17, 0xff].map(u32::to_le_bytes);
        [&[processor][..], &masks.concat(), &record, &record].concat()
    };
    (0..8)
        .flat_map(|processor| fields.map(|field| seed(processor, field)))
        .collect()
}
