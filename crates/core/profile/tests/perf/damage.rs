//! Damaged files: whatever is in them, there is an error or a profile that can be written.

use proptest::collection::vec;
use proptest::prelude::*;
use relayout_perf_data::{decode, kernel_text, process_modules};
use relayout_profile::perf::{
    self, ImportOptions, ImportTarget, SampledInstruction, choose_target,
};
use relayout_profile::validate;

use crate::perf::builder::*;

fn files() -> Vec<Vec<u8>> {
    let with_samples = |mut file: File| {
        file.kernel(0xffff_ffff_8100_0000, 0x100_0000, 0xffff_ffff_8100_0000)
            .lost(3);
        ping_pong(&mut file, 4);
        file
    };
    let pebs = with_samples(File::pebs());
    let stream = ruzstd::encoding::compress_to_vec(
        &pebs.records[..],
        ruzstd::encoding::CompressionLevel::Fastest,
    );
    let mut compressed = pebs.clone();
    compressed.compress(&stream, 4);
    vec![
        pebs.bytes(),
        pebs.pipe(),
        with_samples(File::ibs()).bytes(),
        with_samples(File::spe()).bytes(),
        with_samples(File::pebs().big_endian()).bytes(),
        compressed.bytes(),
    ]
}

fn import_all(file: &[u8]) {
    let Ok(recording) = decode(file) else {
        return;
    };
    kernel_text(&recording);
    for what in [
        choose_target(&recording, None, true),
        choose_target(&recording, None, false),
    ]
    .into_iter()
    .flatten()
    {
        if let ImportTarget::Process(pid) = what {
            for module in process_modules(&recording, pid) {
                let _ = module.file_offset(module.start());
            }
        }
        let line_bytes = recording.origin.line_bytes.unwrap_or(64);
        let image = (1 << 63, u64::MAX);
        let options = ImportOptions {
            target: what,
            slide: 0x1000,
            image,
            line_bytes,
            modules: Vec::new(),
        };
        let mut code = |pc: u64| {
            let instruction = SampledInstruction {
                bytes: vec![0x90],
                access_bytes: pc as u8,
                modifies: pc.is_multiple_of(2),
            };
            pc.is_multiple_of(3).then_some(instruction)
        };
        if let Ok(imported) = perf::import_samples(&recording, &options, &mut code) {
            assert_eq!(validate::validate(&imported.profile), Ok(()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn bytes_changed(which in 0_usize..6, changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in any::<Option<prop::sample::Index>>()) {
        thread_local!(static FILES: Vec<Vec<u8>> = files());
        let mut file = FILES.with(|files| files[which].clone());
        for (at, value) in changes {
            let at = at.index(file.len());
            file[at] = value;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        import_all(&file);
    }

    /// Numbers at places of numbers, small and as large as can be.
    #[test]
    fn numbers_changed(which in 0_usize..6, at in any::<prop::sample::Index>(), value in prop_oneof![Just(0_u64), Just(1), Just(u64::MAX), Just(u64::MAX - 7), Just(1 << 63), any::<u64>()]) {
        thread_local!(static FILES: Vec<Vec<u8>> = files());
        let mut file = FILES.with(|files| files[which].clone());
        let at = at.index(file.len() / 8 - 1) * 8;
        file[at..at + 8].copy_from_slice(&value.to_le_bytes());
        import_all(&file);
    }
}
