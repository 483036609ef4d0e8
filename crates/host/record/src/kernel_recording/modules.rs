//! Modules of the recorded kernel, as a profile has them: a row for each of their sections, because a
//! kernel loads sections where it wants.

use std::collections::BTreeMap;
use std::path::Path;

use relayout_files::{canonical_name, map_file};
use relayout_layout::kernel_module::{ModuleSection, PER_CPU_SECTION, module_sections};
use relayout_layout::links::DebugLinks;
use relayout_profile::{Addr, LoadedModule, RangeKind, RangeRow, RunId};

use crate::kernel_modules::ModulesToLoad;
use crate::memory::{GuestModule, MemorySnapshot};
use crate::{GuestKernel, ModuleFolder};

/// Start of the names of sections that the kernel frees once the module is loaded.
const FREED: &str = ".init";

/// Files of modules.
#[derive(Clone, Copy)]
pub struct ModuleFiles<'m> {
    /// Those that the guest was told to load.
    pub loaded: &'m ModulesToLoad,
    /// Those of the kernel.
    pub folder: &'m ModuleFolder,
}

/// Modules with files, for the profile.
#[derive(Default)]
pub struct DescribedModules {
    /// The kernel, and the sections of its modules, by start; empty without modules.
    pub rows: Vec<LoadedModule>,
    /// Memory of the sections, and of the CPUs' copies of variables.
    pub ranges: Vec<RangeRow>,
    /// Names of the modules without a file.
    pub unknown: Vec<String>,
}

impl DescribedModules {
    /// Describes the modules of `snapshot` by their files.
    pub fn find(
        kernel: &GuestKernel<'_>,
        snapshot: &MemorySnapshot,
        files: ModuleFiles<'_>,
        run: RunId,
    ) -> Self {
        let mut described = Self::default();
        for module in &snapshot.modules {
            let path =
                { files.loaded.file_of(&module.name) }.or_else(|| files.folder.find(&module.name));
            let known = path.and_then(|path| described.add_module(module, path, run));
            if known.is_none() {
                described.unknown.push(module.name.clone());
            }
        }
        let mut image = { snapshot.ranges.iter() }.filter(|range| range.kind == RangeKind::Image);
        if let Some(image) = image.next().filter(|_| !described.rows.is_empty()) {
            let row = LoadedModule {
                path: canonical_name(&kernel.debug_path),
                build_id: kernel.build_id.clone(),
                start: image.start.0,
                end: image.start.saturating_add(image.bytes).0,
                bias: 0,
            };
            described.rows.push(row);
        }
        described.rows.sort_by_key(|row| row.start);
        described
    }

    /// Adds the rows of a module. `None` if the file is none, or of another build.
    fn add_module(&mut self, module: &GuestModule, path: &Path, run: RunId) -> Option<()> {
        let bytes = map_file(path).ok()?;
        let sections = module_sections(&bytes).ok()?;
        let build_id = DebugLinks::read(&bytes).ok()?.build_id.unwrap_or_default();
        let build_id: String = build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        if !module.build_id.is_empty() && module.build_id != build_id {
            return None;
        }
        let path = canonical_name(path);
        let addresses: BTreeMap<&str, u64> = { module.sections.iter() }
            .map(|(name, address)| (name.as_str(), *address))
            .collect();
        for section in &sections {
            if section.name == PER_CPU_SECTION {
                let ranges = per_cpu_ranges(module, section, &path, run);
                self.ranges.extend(ranges);
            }
            let address = addresses.get(section.name.as_str()).copied();
            let Some(start) = address.filter(|_| is_kept(section)) else {
                continue;
            };
            self.rows.push(LoadedModule {
                path: path.clone(),
                build_id: build_id.clone(),
                start,
                end: start.saturating_add(section.bytes),
                bias: start.wrapping_sub(section.address),
            });
            let kind = RangeKind::Image;
            self.ranges
                .push(range_row(run, kind, &path, start, section.bytes));
        }
        Some(())
    }
}

fn is_kept(section: &ModuleSection) -> bool {
    section.bytes > 0 && !section.name.starts_with(FREED)
}

/// Returns the CPUs' copies of a module's variables.
fn per_cpu_ranges(
    module: &GuestModule,
    section: &ModuleSection,
    path: &str,
    run: RunId,
) -> Vec<RangeRow> {
    let (copies, bytes) = &module.per_cpu;
    let range = |(cpu, &start): (u32, &u64)| RangeRow {
        id: cpu,
        first: Addr(start.wrapping_sub(section.address)),
        ..range_row(run, RangeKind::PerCpu, path, start, *bytes)
    };
    (0..).zip(copies).map(range).collect()
}

fn range_row(run: RunId, kind: RangeKind, path: &str, start: u64, bytes: u64) -> RangeRow {
    RangeRow {
        run,
        kind,
        start: Addr(start),
        bytes,
        owner: path.to_owned(),
        id: 0,
        first: Addr(start),
        stride: 0,
        object_bytes: 0,
    }
}
