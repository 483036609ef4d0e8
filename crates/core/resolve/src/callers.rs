//! Callers of allocations: from the return addresses of a call stack to a description.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use relayout_layout::readable_function_name;
use relayout_profile::RunId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::evidence::AnalysedProgram;
use crate::images::{DebugImages, LinkedAddress};
use crate::objects::{StatedObjects, StringLibrary};
use crate::source::{SourceMaps, SourcePlace, readable_name};

/// Frames of one stack that are read, at most.
const FRAMES_MAX: usize = 64;
/// Wrappers of allocators around each other, at most.
const WRAPPERS_MAX: usize = 4;

/// A recorded allocation.
#[derive(Clone, Copy, Debug)]
pub struct AllocationRequest<'r> {
    /// Recording.
    pub run: RunId,
    /// Return addresses as the profile gives them, innermost first.
    pub stack: &'r str,
    /// Bytes.
    pub bytes: u64,
}

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
    /// Library of the string that a function before it allocates for.
    pub string: Option<StringLibrary>,
    /// Objects that the functions before it allocate for.
    pub stated: Option<StatedObjects>,
    /// The innermost call is of `aligned_alloc` or its like, for which programs round sizes up to whole
    /// lines.
    pub is_aligned: bool,
}

/// Reader of call stacks, which looks up each frame once.
pub struct CallerStacks<'p, 'f, 'a> {
    program: &'p AnalysedProgram<'f, 'a>,
    images: &'p DebugImages<'f, 'a>,
    /// Made for the first stack, since kernels have none.
    sources: OnceCell<SourceMaps<'f, 'a>>,
    /// Functions that pass requests for memory on, by the user's word.
    allocators: &'p [String],
    /// Calls, by their return addresses, that functions make for their callers.
    wrapper_calls: FxHashSet<LinkedAddress>,
    by_stack: FxHashMap<(RunId, String), AllocationCallers>,
    places: FxHashMap<LinkedAddress, Option<SourcePlace>>,
}

impl<'p, 'f, 'a> CallerStacks<'p, 'f, 'a> {
    /// Makes a reader that has read nothing yet.
    pub fn new(
        program: &'p AnalysedProgram<'f, 'a>,
        images: &'p DebugImages<'f, 'a>,
        allocators: &'p [String],
    ) -> Self {
        Self {
            program,
            images,
            sources: OnceCell::new(),
            allocators,
            wrapper_calls: FxHashSet::default(),
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

    /// Finds functions that allocate for their callers: one call, of which some callers never get a
    /// size that others get. What they allocate belongs to the callers.
    pub fn find_wrappers(&mut self, requests: &[AllocationRequest<'_>]) {
        for _ in 0..WRAPPERS_MAX {
            let mut sizes: BTreeMap<LinkedAddress, BTreeMap<LinkedAddress, BTreeSet<u64>>> =
                BTreeMap::new();
            for request in requests {
                let callers = self.read(request.run, request.stack);
                let call = callers
                    .near
                    .checked_sub(1)
                    .and_then(|last| callers.frames[last]);
                let caller = callers.frames.get(callers.near).copied().flatten();
                if let (Some(call), Some(caller)) = (call, caller) {
                    let by_caller = sizes.entry(call).or_default();
                    by_caller.entry(caller).or_default().insert(request.bytes);
                }
            }
            let known = self.wrapper_calls.len();
            let differ = |by_caller: &BTreeMap<_, BTreeSet<u64>>| {
                let mut sets = by_caller.values();
                let first = sets.next();
                first.is_some_and(|first| sets.any(|other| first.is_disjoint(other)))
            };
            let wrappers = sizes.iter().filter(|(_, by_caller)| differ(by_caller));
            self.wrapper_calls.extend(wrappers.map(|(call, _)| *call));
            if self.wrapper_calls.len() == known {
                return;
            }
            self.by_stack.clear();
        }
    }

    fn parse(&mut self, run: RunId, stack: &str) -> AllocationCallers {
        let address = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let frames: Vec<Option<LinkedAddress>> = stack
            .split_whitespace()
            .take(FRAMES_MAX)
            .map(|word| self.images.locate(run, address(word)?))
            .collect();
        let mut wanted = None;
        for (n, frame) in frames.iter().enumerate() {
            let Some(back) = *frame else { continue };
            let Some(function) = self.requesting_function(back) else {
                continue;
            };
            let is_wrapper = self.wrapper_calls.contains(&back);
            if wanted.is_none() || !is_wrapper {
                wanted = Some((n, self.describe(back, &function)));
            }
            if !is_wrapper {
                break;
            }
        }
        let (near, words) = match wanted {
            Some((n, words)) => (n + 1, words),
            None => (frames.len(), String::new()),
        };
        let mut passing = frames[..near].iter().flatten();
        let string = passing.find_map(|back| self.string_library(*back));
        let stated = self.stated_objects(&frames[..near]);
        let is_aligned = frames.first().copied().flatten();
        let is_aligned = is_aligned.is_some_and(|back| self.calls_aligned_allocator(back));
        AllocationCallers {
            frames,
            near,
            description: words,
            string,
            stated,
            is_aligned,
        }
    }

    fn calls_aligned_allocator(&self, return_address: LinkedAddress) -> bool {
        let view = self.program.file_view(return_address.file);
        let callee = view.call_before(return_address.address);
        matches!(
            callee,
            Some("aligned_alloc" | "memalign" | "posix_memalign")
        )
    }

    /// Returns the objects that the innermost functions of a stack allocate for, as far as these belong to the
    /// standard libraries.
    fn stated_objects(&mut self, frames: &[Option<LinkedAddress>]) -> Option<StatedObjects> {
        for back in frames.iter().flatten() {
            let place = self.source_place(*back)?;
            let inlined = place.inlined.iter().map(|frame| frame.function.as_str());
            // Instances of a function of a library may be merged.
            let is_certain = !is_known_allocator(&place.function);
            for function in inlined.chain([place.function.as_str()]) {
                if let Some(stated) = StatedObjects::of_function(function, is_certain) {
                    return Some(stated);
                }
                if !self.forwards_allocation(function) {
                    return None;
                }
            }
        }
        None
    }

    /// Returns the library of the string that a function at a call, or one inlined there, is of.
    fn string_library(&mut self, return_address: LinkedAddress) -> Option<StringLibrary> {
        let place = self.source_place(return_address)?;
        let inlined = place.inlined.iter().map(|frame| frame.function.as_str());
        let mut functions = inlined.chain([place.function.as_str()]);
        functions.find_map(StringLibrary::of_function)
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
            .find(|frame| !self.forwards_allocation(&frame.function));
        if let Some(frame) = inlined {
            return Some((frame.function.clone(), position(&frame.file, frame.line)));
        }
        if self.forwards_allocation(&place.function) {
            return None;
        }
        let (file, line) = match place.outer {
            Some(outer) => (outer.file, outer.line),
            None => (place.file, place.line),
        };
        Some((place.function, position(&file, line)))
    }

    /// Returns true if a function only passes memory on.
    fn forwards_allocation(&self, function: &str) -> bool {
        is_known_allocator(function) || self.allocators.iter().any(|name| name == function)
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
        let callee = readable_function_name(callee);
        let function = readable_function_name(&requester.0);
        match &requester.1 {
            Some(position) => format!("{callee} in {function} ({position})"),
            None => format!("{callee} in {function}"),
        }
    }
}

/// Returns true for allocators and containers of the standard libraries.
fn is_known_allocator(function: &str) -> bool {
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
