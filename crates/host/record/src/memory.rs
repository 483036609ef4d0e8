//! The guest's memory at the end of the window, read as a debugger would read it, while the machine
//! is stopped.
//!
//! Each reader follows some types and variables of the kernel. Kernels differ in them: a reader has
//! one file for each form, and chooses by what the debug information has, never by version. A
//! reader that does not find its way is left out, and the others go on.

mod areas;
mod compound;
mod files;
mod frames;
mod guest_process;
mod list;
mod lookup;
mod mappings;
mod modules;
mod moved_types;
mod object_layout;
mod page_types;
mod pages;
mod paging;
mod percpu;
mod pipes;
mod requested_move;
mod slab;
mod tasks;
mod vmalloc;

use std::collections::BTreeSet;

use relayout_profile::Addr;
use relayout_profile::RunId;
use relayout_profile::{LeftOutReader, RangeKind, RangeRow};

use self::areas::AreaReader;
use self::files::{FileNames, FileReader};
use self::frames::PageFrames;
pub use self::guest_process::{
    GuestProcess, GuestThread, ProcessLife, ProcessReader, ProcessSnapshot,
};
use self::lookup::{KernelLookup, MissingItem};
pub use self::mappings::MemoryMapping;
pub use self::modules::GuestModule;
use self::modules::ModuleReader;
pub use self::moved_types::MovedTypes;
use self::pages::{DescriptorReader, PageDescriptors, PageOwners, PageUseReader};
use self::paging::{GuestMemory, PagingReader};
use self::percpu::{CHUNK_TYPE, ChunkReader, StaticDataReader};
use self::pipes::PipeReader;
pub use self::requested_move::{ObjectSize, RequestedMove};
use self::slab::{KnownSlab, SlabReader};
use self::tasks::TaskReader;
use self::vmalloc::VmallocReader;
use crate::GuestKernel;

/// Bytes of a page.
pub(crate) const PAGE_BYTES: u64 = 4096;

/// Ranges of the guest's memory for one run, sorted by start.
pub struct MemorySnapshot {
    /// Ranges, each once.
    pub ranges: Vec<RangeRow>,
    /// Modules that the kernel has loaded.
    pub modules: Vec<GuestModule>,
    /// Readers that this kernel, or this guest's memory, leaves without what they follow.
    pub left_out: Vec<LeftOutReader>,
}

/// The readers of one kernel's memory, each as far as the kernel's debug information leads.
pub struct MemoryReaders {
    paging: Result<PagingReader, MissingItem>,
    areas: AreaReader,
    descriptors: Result<DescriptorReader, MissingItem>,
    slabs: Result<SlabReader, MissingItem>,
    page_uses: Result<PageUseReader, MissingItem>,
    files: Result<FileReader, MissingItem>,
    pipes: Result<PipeReader, MissingItem>,
    static_data: Result<StaticDataReader, MissingItem>,
    chunks: Result<ChunkReader, MissingItem>,
    vmalloc: Result<VmallocReader, MissingItem>,
    tasks: Result<TaskReader, MissingItem>,
    /// `None` for a kernel without modules.
    modules: Option<Result<ModuleReader, MissingItem>>,
}

/// A reader, by the name that reports give it, and the areas that it describes.
#[derive(Clone, Copy)]
struct ReaderName {
    name: &'static str,
    areas: &'static [RangeKind],
}

const ADDRESSES: ReaderName = ReaderName::new("addresses", &[]);
const DESCRIPTORS: ReaderName = ReaderName::new("page descriptors", &[RangeKind::DirectMap]);
const SLABS: ReaderName = ReaderName::new("slabs", &[RangeKind::DirectMap]);
const PAGE_USES: ReaderName = ReaderName::new("uses of pages", &[RangeKind::DirectMap]);
const FILES: ReaderName = ReaderName::new("names of files", &[RangeKind::DirectMap]);
const PIPES: ReaderName = ReaderName::new("pages of pipes", &[RangeKind::DirectMap]);
const STATIC_DATA: ReaderName = ReaderName::new("per-cpu variables", &[RangeKind::DirectMap]);
const CHUNKS: ReaderName = ReaderName::new(
    "per-cpu chunks",
    &[RangeKind::DirectMap, RangeKind::Vmalloc],
);
const ALLOCATIONS: ReaderName = ReaderName::new("vmalloc areas", &[RangeKind::Vmalloc]);
const STACKS: ReaderName = ReaderName::new("stacks", &[RangeKind::Vmalloc]);
const MODULES: ReaderName = ReaderName::new("modules", &[RangeKind::Vmalloc]);

impl ReaderName {
    const fn new(name: &'static str, areas: &'static [RangeKind]) -> Self {
        Self { name, areas }
    }

    fn left_out(self, missing: &MissingItem) -> LeftOutReader {
        LeftOutReader {
            reader: self.name.to_owned(),
            missing: missing.0.clone(),
            areas: self.areas.to_vec(),
        }
    }
}

impl MemoryReaders {
    /// Finds what each reader follows in the kernel's debug information.
    pub fn find(kernel: &GuestKernel<'_>) -> Self {
        let mut lookup = KernelLookup::new(kernel);
        Self {
            paging: PagingReader::find(&lookup),
            areas: AreaReader::find(&lookup),
            descriptors: DescriptorReader::find(&mut lookup),
            slabs: SlabReader::find(&mut lookup),
            page_uses: PageUseReader::find(&mut lookup),
            files: FileReader::find(&mut lookup),
            pipes: PipeReader::find(&mut lookup),
            static_data: StaticDataReader::find(&lookup),
            chunks: ChunkReader::find(&mut lookup),
            vmalloc: VmallocReader::find(&mut lookup),
            tasks: TaskReader::find(&mut lookup),
            modules: ModuleReader::find(&mut lookup),
        }
    }

    /// Returns the readers that are left out, whatever the guest's memory holds.
    pub fn left_out(&self) -> Vec<LeftOutReader> {
        let modules = { self.modules.as_ref() }.and_then(|reader| reader.as_ref().err());
        let found: [(ReaderName, Option<&MissingItem>); 11] = [
            (ADDRESSES, self.paging.as_ref().err()),
            (DESCRIPTORS, self.descriptors.as_ref().err()),
            (SLABS, self.slabs.as_ref().err()),
            (PAGE_USES, self.page_uses.as_ref().err()),
            (FILES, self.files.as_ref().err()),
            (PIPES, self.pipes.as_ref().err()),
            (STATIC_DATA, self.static_data.as_ref().err()),
            (CHUNKS, self.chunks.as_ref().err()),
            (ALLOCATIONS, self.vmalloc.as_ref().err()),
            (STACKS, self.tasks.as_ref().err()),
            (MODULES, modules),
        ];
        { found.into_iter() }
            .filter_map(|(name, missing)| Some(name.left_out(missing?)))
            .collect()
    }

    /// Reads the guest's memory from `bytes` (the file behind it). `pages` are the addresses of the
    /// pages (4 KiB) that matter, ascending: slabs, allocations and kinds of pages are looked up
    /// for them only.
    pub fn read_snapshot(
        &self,
        kernel: &GuestKernel<'_>,
        bytes: &[u8],
        run: RunId,
        cpus: u16,
        pages: &[u64],
    ) -> MemorySnapshot {
        let mut snapshot = MemorySnapshot {
            ranges: self.areas.image_range(run).into_iter().collect(),
            modules: Vec::new(),
            left_out: self.left_out(),
        };
        let Ok(paging) = &self.paging else {
            snapshot.sort();
            return snapshot;
        };
        match paging.open(bytes) {
            Some(memory) => {
                self.read_direct_map_ranges(&memory, run, cpus, pages, &mut snapshot);
                self.read_vmalloc(kernel, &memory, run, pages, &mut snapshot);
                self.read_modules(&memory, cpus, &mut snapshot);
            }
            None => snapshot.note_unread(ADDRESSES, "the kernel's image and its page tables"),
        }
        snapshot.sort();
        snapshot
    }

    /// Opens the guest's memory. `None` if the kernel or the memory does not tell where the kernel's addresses lie.
    fn open<'m>(&self, bytes: &'m [u8]) -> Option<GuestMemory<'m>> {
        self.paging.as_ref().ok()?.open(bytes)
    }

    /// Reads all slabs from the guest's memory. `None` if the kernel or its memory does not tell where they are.
    fn read_slabs(&self, bytes: &[u8]) -> Option<Vec<KnownSlab>> {
        let memory = self.open(bytes)?;
        let (reader, slabs) = (self.descriptors.as_ref().ok()?, self.slabs.as_ref().ok()?);
        let descriptor_bytes = reader.descriptor_bytes();
        let areas = self.areas.read(&memory, descriptor_bytes)?;
        let frames = PageFrames::new(&areas, areas.page_array?, descriptor_bytes);
        let pages: Vec<u64> = frames.pages().collect();
        let descriptors = PageDescriptors { frames, reader };
        Some(slabs.slabs(&memory, &descriptors, RunId(0), &pages))
    }

    /// Returns the addresses of a variable in the guest's memory: of its copies if each of `cpus` CPUs has one.
    fn variable_addresses(&self, bytes: &[u8], variable: u64, cpus: u16) -> Vec<u64> {
        let Some(memory) = self.open(bytes) else {
            return Vec::new();
        };
        match &self.static_data {
            Ok(data) if data.has_copies(variable) => data.copies(&memory, variable, cpus),
            _ => vec![variable],
        }
    }

    /// Returns the addresses of the chunks of per-cpu memory. Empty if the kernel or its memory does not tell.
    fn chunk_addresses(&self, bytes: &[u8]) -> Vec<u64> {
        let chunks = self.chunks.as_ref().ok().zip(self.open(bytes));
        chunks.map_or_else(Vec::new, |(reader, memory)| reader.chunks(&memory))
    }

    /// Reads which address physical address 0 has, or would have, in the direct map. `None` if the kernel or its memory
    /// does not tell.
    pub fn read_direct_map(&self, bytes: &[u8]) -> Option<u64> {
        let memory = self.open(bytes)?;
        let areas = self.areas.read(&memory, 0)?;
        Some(areas.direct_map.wrapping_sub(memory.layout().start()))
    }

    fn read_direct_map_ranges(
        &self,
        memory: &GuestMemory<'_>,
        run: RunId,
        cpus: u16,
        pages: &[u64],
        snapshot: &mut MemorySnapshot,
    ) {
        self.read_percpu(memory, run, cpus, pages, snapshot);
        let reader = self.descriptors.as_ref().ok();
        let descriptor_bytes = reader.map_or(0, DescriptorReader::descriptor_bytes);
        let Some(areas) = self.areas.read(memory, descriptor_bytes) else {
            snapshot.note_unread(ADDRESSES, "the bases of the direct map and the page array");
            return;
        };
        snapshot.ranges.extend(areas.ranges(run, descriptor_bytes));
        let Some((reader, page_array)) = reader.zip(areas.page_array) else {
            return;
        };
        let frames = PageFrames::new(&areas, page_array, descriptor_bytes);
        let descriptors = PageDescriptors { frames, reader };
        if let Ok(slabs) = &self.slabs {
            let slabs = slabs.ranges(memory, &descriptors, run, pages);
            snapshot.ranges.extend(slabs);
        }
        if let Ok(uses) = &self.page_uses {
            let mut owners = PageOwners {
                files: FileNames::new(memory, self.files.as_ref().ok()),
                pipe_pages: self.read_pipe_pages(memory, snapshot),
            };
            // Per-cpu memory is in the direct map too, and better known.
            let others = snapshot.pages_outside_percpu(pages);
            let uses = uses.ranges(memory, &descriptors, &mut owners, run, &others);
            snapshot.ranges.extend(uses);
        }
    }

    fn read_pipe_pages(
        &self,
        memory: &GuestMemory<'_>,
        snapshot: &mut MemorySnapshot,
    ) -> BTreeSet<u64> {
        let Ok(pipes) = &self.pipes else {
            return BTreeSet::new();
        };
        pipes.pages(memory).unwrap_or_else(|| {
            snapshot.note_unread(PIPES, "the list of tasks");
            BTreeSet::new()
        })
    }

    fn read_percpu(
        &self,
        memory: &GuestMemory<'_>,
        run: RunId,
        cpus: u16,
        pages: &[u64],
        snapshot: &mut MemorySnapshot,
    ) {
        let mut cpus = cpus;
        if let Ok(data) = &self.static_data {
            cpus = data.possible_cpus(memory).max(cpus);
            let copies = data.ranges(memory, run, cpus);
            if copies.len() < usize::from(cpus) {
                snapshot.note_unread(STATIC_DATA, "the areas of some CPUs");
            }
            snapshot.ranges.extend(copies);
        }
        if let Ok(chunks) = &self.chunks {
            match chunks.ranges(memory, run, cpus, pages) {
                Some(units) => snapshot.ranges.extend(units),
                None => snapshot.note_unread(CHUNKS, "the units of per-cpu memory"),
            }
        }
    }

    fn read_modules(&self, memory: &GuestMemory<'_>, cpus: u16, snapshot: &mut MemorySnapshot) {
        let Some(Ok(reader)) = &self.modules else {
            return;
        };
        let copies = |variable: u64| match &self.static_data {
            Ok(data) => data.copies(memory, variable, data.possible_cpus(memory).max(cpus)),
            Err(_) => Vec::new(),
        };
        snapshot.modules = reader.modules(memory, copies);
    }

    fn read_vmalloc(
        &self,
        kernel: &GuestKernel<'_>,
        memory: &GuestMemory<'_>,
        run: RunId,
        pages: &[u64],
        snapshot: &mut MemorySnapshot,
    ) {
        if let Ok(vmalloc) = &self.vmalloc {
            match vmalloc.ranges(kernel, memory, run, pages) {
                // On AArch64 the parts of the image are areas, too.
                Some(areas) => snapshot.extend_outside_image(areas),
                None => snapshot.note_unread(ALLOCATIONS, "the list of what is in vmalloc space"),
            }
        }
        if let Ok(tasks) = &self.tasks {
            match tasks.stack_ranges(memory, run) {
                Some(stacks) => snapshot.ranges.extend(stacks),
                None => snapshot.note_unread(STACKS, "the list of tasks"),
            }
        }
    }
}

impl MemorySnapshot {
    /// Adds ranges, but for those that overlap the image.
    fn extend_outside_image(&mut self, ranges: Vec<RangeRow>) {
        let image = self
            .ranges
            .iter()
            .find(|range| range.kind == RangeKind::Image);
        let image = image.map(|image| image.start..image.start.saturating_add(image.bytes));
        let is_outside = |range: &RangeRow| {
            let end = range.start.saturating_add(range.bytes);
            { image.as_ref() }.is_none_or(|image| end <= image.start || range.start >= image.end)
        };
        self.ranges.extend(ranges.into_iter().filter(is_outside));
    }

    /// Sorts the ranges, and drops repeated ones.
    pub fn sort(&mut self) {
        let ranges = &mut self.ranges;
        ranges.sort_by_key(|range| (range.start, range.bytes, range.kind));
        ranges.dedup();
    }

    /// Notes what a reader did not find in the guest's memory.
    fn note_unread(&mut self, reader: ReaderName, data: &str) {
        let missing = MissingItem(format!("{data} in the guest's memory"));
        self.left_out.push(reader.left_out(&missing));
    }

    fn pages_outside_percpu(&self, pages: &[u64]) -> Vec<u64> {
        let is_allocation = |range: &&RangeRow| match range.kind {
            RangeKind::PerCpu => true,
            RangeKind::DirectMap => range.object_bytes > 0,
            _ => false,
        };
        let whole_pages = |range: &RangeRow| {
            let start = range.start.align_down(PAGE_BYTES).0;
            start..range.start.0.saturating_add(range.bytes)
        };
        let percpu = self.ranges.iter().filter(is_allocation);
        let percpu: Vec<_> = percpu.map(whole_pages).collect();
        let is_outside = |page: &&u64| !percpu.iter().any(|range| range.contains(page));
        pages.iter().filter(is_outside).copied().collect()
    }
}

fn range_row(run: RunId, kind: RangeKind, start: u64, bytes: u64) -> RangeRow {
    RangeRow {
        run,
        kind,
        start: Addr(start),
        bytes,
        owner: String::new(),
        id: 0,
        first: Addr(start),
        stride: 0,
        object_bytes: 0,
    }
}

#[cfg(test)]
mod tests;
