//! Mappings: the files of a process, and the address of the kernel's text.

use super::{PerfMapping, PerfRecording};

/// Steps from a process to the one that made it, at most.
const FORKS_MAX: usize = 64;
/// perf's name of the kernel's image; the name of a symbol follows.
const KERNEL: &str = "[kernel.kallsyms]";

/// A file and where it is mapped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedFile {
    /// Its path on the machine that recorded.
    pub path: String,
    /// Build id in lower-case hex; empty where the recording does not have it.
    pub build_id: String,
    /// Its inode there, where the recording has it.
    pub inode: Option<u64>,
    /// Its pieces: address of the first byte, of that after the last, and offset of the first in
    /// the file. By address.
    pub pieces: Vec<(u64, u64, u64)>,
}

impl MappedFile {
    /// Address of its first mapped byte.
    pub fn start(&self) -> u64 {
        self.pieces.first().map_or(0, |piece| piece.0)
    }

    /// Address after its last.
    pub fn end(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.1).max().unwrap_or(0)
    }

    /// Offset in the file of what is at `address`.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        let piece = self
            .pieces
            .iter()
            .find(|(start, end, _)| (*start..*end).contains(&address))?;
        piece.2.checked_add(address - piece.0)
    }
}

/// The files that were mapped into process `pid` since its last exec, by address.
pub fn process_modules(recording: &PerfRecording, pid: u32) -> Vec<MappedFile> {
    let mut found: Vec<MappedFile> = Vec::new();
    let mut index = rustc_hash::FxHashMap::default();
    for map in process_maps(recording, pid) {
        if !map.path.starts_with('/') || map.path.starts_with("//anon") || map.start >= map.end {
            continue;
        }
        let at = *index.entry(map.path.as_str()).or_insert(found.len());
        if at == found.len() {
            let (path, build_id) = (map.path.clone(), build_id(recording, map));
            found.push(MappedFile {
                path,
                build_id,
                inode: map.inode,
                pieces: Vec::new(),
            });
        }
        let module = &mut found[at];
        if module.inode.is_none() {
            module.inode = map.inode;
        }
        if module.build_id.is_empty() {
            module.build_id = map.build_id.clone();
        }
        module.pieces.push((map.start, map.end, map.file_offset));
    }
    for module in &mut found {
        module.pieces.sort_unstable();
        module.pieces.dedup();
    }
    found.sort_by_key(MappedFile::start);
    found
}

/// When `pid` last became another program, in nanoseconds of perf's clock.
pub fn last_exec_ns(recording: &PerfRecording, pid: u32) -> u64 {
    let execs = recording
        .names
        .iter()
        .filter(|name| name.exec && name.pid == pid);
    execs.map(|name| name.time_ns).max().unwrap_or(0)
}

/// Its mappings since the last exec; or its parent's from before the fork, with its own.
fn process_maps(recording: &PerfRecording, pid: u32) -> Vec<&PerfMapping> {
    let (mut pid, mut until) = (pid, u64::MAX);
    let mut maps = Vec::new();
    for _ in 0..FORKS_MAX {
        let execs = recording
            .names
            .iter()
            .filter(|n| n.exec && n.pid == pid && n.time_ns <= until);
        let exec = execs.map(|name| name.time_ns).max();
        let since = exec.unwrap_or(0);
        let own = recording.maps.iter().filter(|map| map.pid == Some(pid));
        maps.extend(own.filter(|map| (since..=until).contains(&map.time_ns)));
        let mut forks = recording
            .forks
            .iter()
            .filter(|f| f.pid == pid && f.parent != pid);
        match forks.rfind(|fork| fork.time_ns <= until) {
            Some(fork) if exec.is_none() => (pid, until) = (fork.parent, fork.time_ns),
            _ => break,
        }
    }
    maps
}

fn build_id(recording: &PerfRecording, map: &PerfMapping) -> String {
    if map.build_id.is_empty() {
        recording
            .origin
            .build_ids
            .get(&map.path)
            .cloned()
            .unwrap_or_default()
    } else {
        map.build_id.clone()
    }
}

/// A symbol of the kernel's image (`_text` or `_stext`) and its address as the kernel ran.
pub fn kernel_text(recording: &PerfRecording) -> Option<(&str, u64)> {
    recording
        .maps
        .iter()
        .filter(|map| map.pid.is_none())
        .find_map(|map| {
            let symbol = map
                .path
                .strip_prefix(KERNEL)
                .filter(|symbol| !symbol.is_empty())?;
            // perf writes the symbol's address where other mappings have an offset.
            (map.file_offset != 0).then_some((symbol, map.file_offset))
        })
}
