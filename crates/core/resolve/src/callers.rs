//! Callers of allocations: from the return addresses of a call stack to a description.

use relayout_profile::RunId;
use std::cell::OnceCell;

use rustc_hash::FxHashMap;

use crate::evidence::AnalysedProgram;
use crate::images::{DebugImages, LinkedAddress};
use crate::source::{SourceMaps, SourcePlace, readable_name};

/// Frames of one stack that are read, at most.
const FRAMES_MAX: usize = 64;

/// Call stack of an allocation, by link-time addresses, so that stacks of different runs compare
/// equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AllocationCallers {
    /// Return addresses, innermost first; `None` in unknown files.
    pub frames: Vec<Option<LinkedAddress>>,
    /// Number of frames, from the innermost, up to the function that needed the memory. The
    /// functions before it only pass the request on.
    pub near: usize,
    /// Description, such as `malloc in items_init (items.c:75)`; empty if nothing is known.
    pub description: String,
}

/// Reader of call stacks, which looks up each frame once.
pub struct CallerStacks<'p, 'f, 'a> {
    program: &'p AnalysedProgram<'f, 'a>,
    images: &'p DebugImages<'f, 'a>,
    /// Made for the first stack, since kernels have none.
    sources: OnceCell<SourceMaps<'f, 'a>>,
    by_stack: FxHashMap<(RunId, String), AllocationCallers>,
    places: FxHashMap<LinkedAddress, Option<SourcePlace>>,
}

impl<'p, 'f, 'a> CallerStacks<'p, 'f, 'a> {
    /// Makes a reader that has read nothing yet.
    pub fn new(program: &'p AnalysedProgram<'f, 'a>, images: &'p DebugImages<'f, 'a>) -> Self {
        Self {
            program,
            images,
            sources: OnceCell::new(),
            by_stack: FxHashMap::default(),
            places: FxHashMap::default(),
        }
    }

    /// Reads the stack that a profile gives as hexadecimal return addresses, innermost first.
    pub fn read(&mut self, run: RunId, stack: &str) -> &AllocationCallers {
        let key = (run, stack.to_owned());
        if !self.by_stack.contains_key(&key) {
            let callers = self.parse(run, stack);
            self.by_stack.insert(key.clone(), callers);
        }
        &self.by_stack[&key]
    }

    fn parse(&mut self, run: RunId, stack: &str) -> AllocationCallers {
        let address = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let frames: Vec<Option<LinkedAddress>> = stack
            .split_whitespace()
            .take(FRAMES_MAX)
            .map(|word| self.images.locate(run, address(word)?))
            .collect();
        let wanted = frames.iter().enumerate().find_map(|(n, frame)| {
            let back = (*frame)?;
            let function = self.requesting_function(back)?;
            Some((n, self.describe(back, &function)))
        });
        let (near, words) = match wanted {
            Some((n, words)) => (n + 1, words),
            None => (frames.len(), String::new()),
        };
        AllocationCallers {
            frames,
            near,
            description: words,
        }
    }

    fn source_place(&mut self, return_address: LinkedAddress) -> Option<SourcePlace> {
        let sources = self.sources.get_or_init(|| SourceMaps::new(self.images));
        let look_up = || sources.look_up_call(return_address);
        self.places
            .entry(return_address)
            .or_insert_with(look_up)
            .clone()
    }

    /// Returns name and position of the first function at a call, inlined ones first, that does
    /// more than pass the request for memory on.
    fn requesting_function(
        &mut self,
        return_address: LinkedAddress,
    ) -> Option<(String, Option<String>)> {
        let place = self.source_place(return_address)?;
        let position = |file: &Option<String>, line: Option<u32>| {
            let file = file.as_deref()?.rsplit('/').next()?.to_owned();
            Some(match line {
                Some(line) => format!("{file}:{line}"),
                None => file,
            })
        };
        let inlined = place
            .inlined
            .iter()
            .find(|frame| !forwards_allocation(&frame.function));
        if let Some(frame) = inlined {
            return Some((frame.function.clone(), position(&frame.file, frame.line)));
        }
        if forwards_allocation(&place.function) {
            return None;
        }
        let (file, line) = match place.outer {
            Some(outer) => (outer.file, outer.line),
            None => (place.file, place.line),
        };
        Some((place.function, position(&file, line)))
    }

    fn describe(
        &self,
        return_address: LinkedAddress,
        requester: &(String, Option<String>),
    ) -> String {
        let callee = self
            .program
            .file_view(return_address.file)
            .call_before(return_address.address);
        let callee = callee.map(|name| readable_name(name.into()));
        let callee = callee.as_deref().map_or("made", |name| match name {
            // Rust's own entry points carry the name of their crate.
            _ if name.contains("__rust_alloc") => "alloc",
            name => name,
        });
        match requester {
            (function, Some(position)) => format!("{callee} in {function} ({position})"),
            (function, None) => format!("{callee} in {function}"),
        }
    }
}

/// Returns true if a function only passes memory on: allocators and containers of the standard
/// libraries.
fn forwards_allocation(function: &str) -> bool {
    const EXACT: [&str; 20] = [
        "malloc",
        "calloc",
        "realloc",
        "reallocarray",
        "aligned_alloc",
        "memalign",
        "posix_memalign",
        "valloc",
        "strdup",
        "strndup",
        "operator new",
        "operator new[]",
        "xmalloc",
        "xcalloc",
        "xrealloc",
        "xstrdup",
        "g_malloc",
        "g_malloc0",
        "g_realloc",
        "zmalloc",
    ];
    const STARTS: [&str; 12] = [
        "std::",
        "__gnu_cxx::",
        "alloc::",
        "core::",
        "<alloc::",
        "<core::",
        "<std::",
        "hashbrown::",
        "<hashbrown::",
        "__rust",
        "__rdl_",
        "__rg_",
    ];
    EXACT.contains(&function) || STARTS.iter().any(|start| function.starts_with(start))
}
