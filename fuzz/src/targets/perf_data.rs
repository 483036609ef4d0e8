use relayout_profile::check::check;
use relayout_profile::perf::{self, Instruction, Options, What};

/// A file of perf, made a profile of every process that has samples and of the kernel: whatever the
/// file, the profile can be written.
pub fn perf_data(data: &[u8]) {
    let recording = match perf::decode(data) {
        Ok(recording) => recording,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    perf::kernel_text(&recording);
    let kernel = perf::choose(&recording, None, true).ok();
    let process = perf::choose(&recording, None, false).ok();
    for what in [kernel, process].into_iter().flatten() {
        if let What::Process(pid) = what {
            for mapped in perf::modules(&recording, pid) {
                mapped.file_offset(mapped.start());
            }
        }
        let options = Options {
            what,
            slide: 0x1000,
            image: (0xffff_ffff_8000_0000, u64::MAX),
            line_bytes: recording.origin.line_bytes.unwrap_or(64),
            modules: Vec::new(),
        };
        let code = |pc: u64| {
            (pc % 3 == 0).then(|| Instruction {
                bytes: vec![0x90; (pc % 16) as usize],
                access_bytes: (pc % 70) as u8,
                modifies: pc % 2 == 0,
            })
        };
        if let Ok(imported) = perf::import(&recording, &options, &mut { code }) {
            check(&imported.profile).expect("a valid profile");
        }
    }
}
