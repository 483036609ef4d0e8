use relayout_layout::dwarf::{DwarfFile, SectionStore};
use relayout_profile::Profile;
use relayout_resolve::{DebugImages, KeptEvidence, Options, resolve_with};

use super::code::{MACHINES, profile_of_code};
use crate::seeds;

/// Offsets of the checksum and of the content that it covers.
const CHECKSUM: usize = 16;
const CONTENT: usize = 20;

/// Any bytes as what was kept of a program, as they are, and behind its identity with the right
/// checksum: refused or taken, and what was taken is a wrong answer at worst.
pub fn kept(data: &[u8]) {
    with_program(|images, profile| {
        let _ = empty_kept(images).decode(data);
        let Some(mut decoded) = decode_content(images, data) else {
            return;
        };
        let again = empty_kept(images).decode(&decoded.encode());
        assert_eq!(again.as_ref(), Ok(&decoded));
        let resolution = resolve_with(profile, images, Options::default(), Some(&mut decoded));
        let resolution = resolution.expect("a sound profile");
        for row in &profile.counts {
            resolution.address_owner(row.run, row.addr, row.size.into());
        }
    });
}

/// Returns the kept content of the program, behind its identity.
pub fn kept_content() -> Vec<u8> {
    with_program(|images, profile| {
        let mut kept = empty_kept(images);
        resolve_with(profile, images, Options::default(), Some(&mut kept))
            .expect("a sound profile");
        assert!(kept.site_count() > 0);
        let empty = encoded_head(images).len();
        kept.encode().split_off(empty)
    })
}

/// Returns the number of known instructions if `content` is accepted.
pub fn with_kept(content: &[u8]) -> Option<usize> {
    with_program(|images, _| Some(decode_content(images, content)?.site_count()))
}

fn decode_content(images: &DebugImages<'_, '_>, content: &[u8]) -> Option<KeptEvidence> {
    let mut bytes = encoded_head(images);
    bytes.extend(content);
    let checksum = crc32fast::hash(&bytes[CONTENT..]).to_le_bytes();
    bytes[CHECKSUM..CONTENT].copy_from_slice(&checksum);
    empty_kept(images).decode(&bytes).ok()
}

/// All up to the end of the identity.
fn encoded_head(images: &DebugImages<'_, '_>) -> Vec<u8> {
    let kept = empty_kept(images);
    let identity = kept.identity().as_bytes();
    let mut bytes = kept.encode();
    let start = bytes.windows(identity.len()).position(|at| at == identity);
    bytes.truncate(start.expect("it is in there") + identity.len());
    bytes
}

fn empty_kept(images: &DebugImages<'_, '_>) -> KeptEvidence {
    KeptEvidence::new(images, MACHINES[0]).expect("the linker gives build ids")
}

fn with_program<T>(then: impl FnOnce(&DebugImages<'_, '_>, &Profile) -> T) -> T {
    let program = seeds::kept_program();
    let store = SectionStore::default();
    let debug = DwarfFile::parse_with_store(program, &store).expect("the compiler's own file");
    let text = seeds::section(program, ".text");
    let code = &program[text.bytes.start..text.bytes.end];
    let profile = profile_of_code(MACHINES[0], text.address, code, &debug);
    then(&DebugImages::from_single_file(&debug), &profile)
}
