//! A recording that a test makes up: accesses in order, resolved with the compiled program.

use relayout_advice::{
    AdvisedType, GatheredType, ProbedMachine, ResolvedNames, ResolvedProfile, SearchRequest,
    gather_type, gather_types, predict_changes, search_types,
};
use relayout_messages::SilentProgress;
use relayout_profile::AccessKind::{Read, ReadWrite, Write};
use relayout_profile::{Addr, Profile, ProfileMeta, RangeKind, RangeRow, RunId};
use relayout_resolve::{DebugImages, Options, Resolution, resolve};
use relayout_testprofile::{Step, profile_of_steps};

use crate::advice::fixture::{PROGRAM, address_of};

/// First byte of memory that is no variable of the program.
pub const HEAP: u64 = 0x7000_0000;
/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;
/// Bytes of the code of an instruction, at most.
const CODE_BYTES_MAX: usize = 15;

/// A load of 8 bytes.
pub fn load(context: u16, address: u64) -> Step {
    Step::from((context, Read, address))
}

/// A store of 8 bytes.
pub fn store(context: u16, address: u64) -> Step {
    Step::from((context, Write, address))
}

/// A load and store of 8 bytes.
pub fn add(context: u16, address: u64) -> Step {
    Step::from((context, ReadWrite, address))
}

/// The access of the first instruction of a function.
pub fn in_function(function: &str, step: Step) -> Step {
    Step {
        pc: Some(address_of(function)),
        ..step
    }
}

/// Two contexts add to the words at these addresses in turn, so often.
pub fn turns(addresses: [u64; 2], rounds: usize) -> Vec<Step> {
    [add(0, addresses[0]), add(1, addresses[1])].repeat(rounds)
}

/// Two contexts add to `first` and `second` of the variable `hot` in turn, so often.
pub fn hot_turns(rounds: usize) -> Vec<Step> {
    let hot = address_of("hot");
    turns([hot, hot + 8], rounds)
}

/// A recording of one load of a variable, whose type is called like it.
pub fn loaded(variable: &str) -> Recording {
    Recording::of_kernel(vec![load(0, address_of(variable))])
}

/// A range of memory in the first recording.
pub fn range(kind: RangeKind, start: u64, bytes: u64, owner: &str) -> RangeRow {
    RangeRow {
        run: RunId(0),
        kind,
        start: Addr(start),
        bytes,
        owner: owner.to_owned(),
        id: 0,
        first: Addr(start),
        stride: 0,
        object_bytes: 0,
    }
}

/// An array of objects that the program named.
pub fn named_objects(type_name: &str, start: u64, bytes: u64, stride: u32) -> RangeRow {
    RangeRow {
        stride,
        ..range(RangeKind::Named, start, bytes, type_name)
    }
}

/// A resolved recording.
pub struct Recording {
    pub profile: Profile,
    resolution: Resolution,
}

impl Recording {
    /// A program's recording of accesses to its variables, by their addresses.
    pub fn of_program(steps: Vec<Step>) -> Self {
        Self::resolve(made_profile("program", &[steps]))
    }

    /// A kernel's.
    pub fn of_kernel(steps: Vec<Step>) -> Self {
        Self::resolve(made_profile("kernel", &[steps]))
    }

    /// Finds the objects of a profile.
    pub fn resolve(profile: Profile) -> Self {
        let images = DebugImages::from_single_file(&PROGRAM);
        let resolution = resolve(&profile, &images, Options::default());
        Self {
            resolution: resolution.expect("the profile is of the program"),
            profile,
        }
    }

    pub fn resolved(&self) -> ResolvedProfile<'_> {
        ResolvedProfile {
            profile: &self.profile,
            resolution: &self.resolution,
            line_bytes: 64,
            progress: &SilentProgress,
        }
    }

    /// Calls `use_names` with the names of members and instructions.
    pub fn with_names<T>(&self, use_names: impl FnOnce(&ResolvedNames<'_, '_>) -> T) -> T {
        let images = DebugImages::from_single_file(&PROGRAM);
        use_names(&ResolvedNames::new(&self.resolved(), &images))
    }

    #[track_caller]
    pub fn gather(&self, name: &str) -> GatheredType<'_> {
        gather_type(&self.resolved(), name, &[]).expect("the profile has objects of it")
    }

    /// The message of the error that `name` gets.
    #[track_caller]
    pub fn refusal(&self, name: &str) -> String {
        let refused = gather_type(&self.resolved(), name, &[]).map(|gathered| gathered.name);
        refused.expect_err("refused").to_string()
    }

    /// Advice on one type by its name.
    #[track_caller]
    pub fn advise(&self, name: &str) -> AdvisedType<'_> {
        let types = vec![name.to_owned()];
        self.advise_with(SearchRequest::plain(types, ProbedMachine::default()))
    }

    /// Advice on the first type that a request is about.
    #[track_caller]
    pub fn advise_with(&self, request: SearchRequest) -> AdvisedType<'_> {
        let resolved = self.resolved();
        let (gathered, _) = gather_types(&resolved, &request).expect("a type of the profile");
        self.search(gathered, &request)
    }

    /// Advice on the first of the gathered types.
    #[track_caller]
    pub fn search<'r>(
        &'r self,
        gathered: Vec<GatheredType<'r>>,
        request: &SearchRequest,
    ) -> AdvisedType<'r> {
        let resolved = self.resolved();
        self.with_names(|names| {
            let searched = search_types(&resolved, names, gathered, &[], &[], request);
            let mut types = searched.expect("no layout files");
            predict_changes(&resolved, &mut types, request);
            types.swap_remove(0)
        })
    }
}

/// A profile of recordings of accesses, by their addresses, which lie on one page.
#[track_caller]
pub fn made_profile(target: &str, runs: &[Vec<Step>]) -> Profile {
    let meta = ProfileMeta {
        target: target.to_owned(),
        machine: "x86_64".to_owned(),
        line_bytes: 64,
        ..ProfileMeta::default()
    };
    let first = runs.iter().flatten().map(|step| step.offset).min();
    let page = first.unwrap_or(HEAP) / PAGE_BYTES * PAGE_BYTES;
    let on_page = |step: &Step| Step {
        offset: step.offset - page,
        ..*step
    };
    let runs: Vec<Vec<Step>> = { runs.iter() }
        .map(|steps| steps.iter().map(on_page).collect())
        .collect();
    let is_near = |step: &Step| step.offset < PAGE_BYTES;
    assert!(runs.iter().flatten().all(is_near), "accesses to two pages");
    let mut profile = profile_of_steps(meta, page, &runs);
    for site in &mut profile.sites {
        let code = PROGRAM.bytes_at(site.pc, CODE_BYTES_MAX);
        if let Some(code) = code {
            site.bytes = code.to_vec();
        }
    }
    profile
}
