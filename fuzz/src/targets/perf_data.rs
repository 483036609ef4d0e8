use relayout_perf_data::{decode, kernel_text, process_modules};
use relayout_profile::perf::{self, ImportOptions, ImportTarget, SampledInstruction};
use relayout_profile::validate::validate;

/// A file of perf, made a profile of every process that has samples and of the kernel: whatever the
/// file, the profile can be written.
pub fn perf_data(data: &[u8]) {
    let recording = match decode(data) {
        Ok(recording) => recording,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let counted = recording.samples.len() as u64
        + recording.repeated
        + recording.without_address
        + recording.unknown_event;
    assert!(
        counted <= recording.sample_records,
        "a sample is counted twice"
    );
    assert!(
        recording.samples.iter().all(|sample| sample.addr != 0),
        "an access without address"
    );
    kernel_text(&recording);
    let kernel = perf::choose_target(&recording, None, true).ok();
    let process = perf::choose_target(&recording, None, false).ok();
    for target in [kernel, process].into_iter().flatten() {
        if let ImportTarget::Process(pid) = target {
            for mapped in process_modules(&recording, pid) {
                mapped.file_offset(mapped.start());
            }
        }
        let options = ImportOptions {
            target,
            slide: 0x1000,
            image: (0xffff_ffff_8000_0000, u64::MAX),
            line_bytes: recording.origin.line_bytes.unwrap_or(64),
            modules: Vec::new(),
        };
        let code = |pc: u64| {
            pc.is_multiple_of(3).then(|| SampledInstruction {
                bytes: vec![0x90; (pc % 16) as usize],
                access_bytes: (pc % 70) as u8,
                modifies: pc.is_multiple_of(2),
            })
        };
        if let Ok(imported) = perf::import_samples(&recording, &options, &mut { code }) {
            validate(&imported.profile).expect("a valid profile");
        }
    }
}
