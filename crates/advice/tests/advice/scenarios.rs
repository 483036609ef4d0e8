//! Scores of layouts in other workloads and in builds of other configurations.

use relayout_advice::{
    AdvisedType, ConfigurationBuild, ProbedMachine, ScenarioKind, SearchRequest, StoreCounts,
    add_workload_scores, gather_types, search_types, shape_in_catalog,
};
use relayout_layout::abi::StructShape;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_profile::Profile;
use relayout_testprofile::Step;

use crate::advice::fixture::{ELF, address_of};
use crate::advice::recording::{
    Recording, hot_turns, in_function, load, made_profile, store, turns,
};

fn request() -> SearchRequest {
    SearchRequest::plain(vec!["hot".to_owned()], ProbedMachine::default())
}

/// Calls `check` with a type that was scored in another recording.
fn scored_in(own: Vec<Step>, other: Profile, check: impl FnOnce(&AdvisedType<'_>)) {
    let recording = Recording::of_kernel(own);
    let other = Recording::resolve(other);
    let mut types = vec![recording.advise("hot")];
    other.with_names(|names| {
        add_workload_scores(
            &other.resolved(),
            names,
            &mut types,
            "other.relayout",
            &request(),
        );
    });
    check(&types[0]);
}

#[test]
fn shown_layouts_are_scored_in_another_workload() {
    let mut other = made_profile("kernel", &[hot_turns(50)]);
    other.meta.workload = "pipe".to_owned();
    scored_in(hot_turns(100), other, |advised| {
        let [scenario] = advised.scenarios.unguarded.as_slice() else {
            panic!("one workload");
        };
        assert_eq!(scenario.name, "other.relayout");
        assert_eq!(scenario.workload.as_deref(), Some("pipe"));
        assert_eq!(scenario.kind, ScenarioKind::Workload);
        assert_eq!(scenario.kind.as_str(), "workload");
        let (own, first) = scenario.results_at(0).expect("scored");
        assert_eq!(own.tally.transfers(), 99);
        assert_eq!(first.tally.transfers(), 0);
        let results = scenario.results.as_ref().expect("scored");
        let advice = advised.advice().expect("searched");
        assert_eq!(results.len(), 1 + advice.shown_candidates(5).len());
        assert!(scenario.results_at(results.len() - 1).is_none());
        assert!(advised.scenarios.guarded.is_empty());
    });
}

#[test]
fn a_recording_without_the_type_tells_nothing() {
    let workers = address_of("workers");
    let other = made_profile("kernel", &[turns([workers, workers + 16], 50)]);
    scored_in(hot_turns(100), other, |advised| {
        let [scenario] = advised.scenarios.unguarded.as_slice() else {
            panic!("one workload");
        };
        let reason = scenario.results.as_ref().map(Vec::len);
        assert_eq!(reason, Err(&"no object of struct hot is in it".to_owned()));
        assert!(scenario.results_at(0).is_none());
    });
}

/// Stores to `second` that change nothing, or are known to change it, each before a load by another context.
fn flag(silent: bool, rounds: usize) -> Vec<Step> {
    let second = address_of("hot") + 8;
    let stored = Step {
        silent: Some(silent),
        ..in_function("store_second", store(0, second))
    };
    [stored, load(1, second)].repeat(rounds)
}

#[test]
fn guards_are_scored_where_the_other_recording_has_the_statement() {
    let counts = |other: Vec<Step>| {
        let mut found = (Vec::new(), 0, 0);
        scored_in(
            flag(true, 100),
            made_profile("kernel", &[other]),
            |advised| {
                let [scenario] = advised.scenarios.guarded.as_slice() else {
                    panic!("one workload");
                };
                let (own, guarded) = scenario.results_at(0).expect("scored");
                let (own, guarded) = (own.tally.transfers(), guarded.tally.transfers());
                found = (scenario.store_counts.clone(), own, guarded);
            },
        );
        found
    };
    let stores = |all, silent| vec![StoreCounts { all, silent }];
    assert_eq!(counts(flag(true, 50)), (stores(50, 50), 50, 0));
    // Where the stores change something, the guard saves nothing.
    assert_eq!(counts(flag(false, 50)), (stores(50, 0), 50, 50));
    // Another statement is not guarded.
    assert_eq!(counts(hot_turns(50)).0, stores(0, 0));
}

/// Shape of a type in the compiled program, as in another build.
fn compiled_shape(name: &str) -> Result<StructShape, String> {
    let store = SectionStore::default();
    let catalog = TypeCatalog::parse(&ELF, &store, DebugInfoFormat::Any);
    shape_in_catalog(&catalog.expect("gcc writes DWARF"), name).expect("the type is read")
}

/// Scores of the candidates of `hot` in a build.
fn configured(build: ConfigurationBuild, check: impl FnOnce(&AdvisedType<'_>)) {
    let recording = Recording::of_kernel(hot_turns(100));
    let resolved = recording.resolved();
    let (gathered, _) = gather_types(&resolved, &request()).expect("hot");
    recording.with_names(|names| {
        let builds = [build];
        let searched = search_types(&resolved, names, gathered, &[], &builds, &request());
        check(&searched.expect("no layout files")[0]);
    });
}

#[test]
fn candidates_are_scored_in_another_build() {
    let shape = compiled_shape("hot");
    assert_eq!(shape.as_ref().map(|shape| shape.atoms.len()), Ok(3));
    let build = ConfigurationBuild {
        name: "allnoconfig".to_owned(),
        shapes: vec![shape],
    };
    configured(build, |advised| {
        let [scenario] = advised.scenarios.unguarded.as_slice() else {
            panic!("one configuration");
        };
        assert_eq!(
            (scenario.kind.as_str(), &*scenario.name),
            ("configuration", "allnoconfig")
        );
        assert_eq!(scenario.workload, None);
        let (own, first) = scenario.results_at(0).expect("scored");
        assert_eq!((own.tally.transfers(), first.tally.transfers()), (199, 0));
        assert_eq!(advised.advice().expect("searched").builds, 1);
        assert!(advised.recommended(None).is_some());
    });
}

#[test]
fn a_build_without_the_struct_says_so() {
    let missing = compiled_shape("cold");
    let reason = "it has no struct cold".to_owned();
    assert_eq!(
        missing.as_ref().map(|shape| shape.atoms.len()),
        Err(&reason)
    );
    let build = ConfigurationBuild {
        name: "tinyconfig".to_owned(),
        shapes: vec![missing],
    };
    configured(build, |advised| {
        let results = advised.scenarios.unguarded[0].results.as_ref();
        assert_eq!(results.map(Vec::len), Err(&reason));
        assert_eq!(advised.advice().expect("searched").builds, 0);
    });
}
