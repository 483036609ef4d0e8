//! Memory that objects are in: it tells which places and alignments another layout can have.

use relayout_profile::{Addr, RangeKind};
use relayout_search::ObjectHome;

use crate::advice::fixture::return_address;
use crate::advice::gathering::in_ranges;
use crate::advice::recording::{
    HEAP, Recording, hot_turns, in_function, load, named_objects, range, turns,
};

/// Tests the home of the first object of `name`.
#[track_caller]
fn check_home(recording: &Recording, name: &str, expect: &ObjectHome) {
    let gathered = recording.gather(name);
    assert_eq!(gathered.instances[0].home, *expect);
}

#[test]
fn a_variable_stays_where_it_is() {
    let recording = Recording::of_program(hot_turns(20));
    check_home(&recording, "hot", &ObjectHome::Fixed);
    let gathered = recording.gather("hot");
    assert!(!gathered.has_named);
    assert!(gathered.allocation_calls.is_empty());
}

#[test]
fn an_object_that_a_program_named_gets_what_its_type_declares() {
    let named = |target: &str| {
        let ranges = vec![named_objects("struct queue", HEAP + 32, 16, 0)];
        in_ranges(target, turns([HEAP + 32, HEAP + 40], 20), ranges)
    };
    let home = ObjectHome::Heap {
        first: Addr(HEAP + 32),
        align: 16,
        count: 1,
        follows_type: true,
    };
    let program = named("program");
    check_home(&program, "queue", &home);
    assert!(program.gather("queue").has_named);
    check_home(&named("kernel"), "queue", &ObjectHome::Fixed);
}

/// Two allocations of a `queue` by a call, of which one is accessed.
fn allocated(callee: &str, offsets: [u64; 2]) -> Recording {
    let stack = format!("{:x}", return_address("make_queues", callee));
    let heap = |offset: u64| range(RangeKind::Heap, HEAP + offset, 16, &stack);
    let accesses = [
        in_function("load_head", load(0, HEAP + offsets[0])),
        in_function("load_tail", load(1, HEAP + offsets[0] + 8)),
    ];
    let ranges = offsets.map(heap).to_vec();
    in_ranges("program", accesses.repeat(20), ranges)
}

#[test]
fn malloc_gives_sixteen_bytes_of_alignment_unless_the_recording_shows_less() {
    let check = |offsets: [u64; 2], align: u32| {
        let recording = allocated("malloc", offsets);
        let home = ObjectHome::Heap {
            first: Addr(HEAP + offsets[0]),
            align,
            count: 1,
            follows_type: false,
        };
        check_home(&recording, "queue", &home);
        let gathered = recording.gather("queue");
        let calls: Vec<&String> = gathered.allocation_calls.iter().collect();
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert!(
            calls[0].starts_with("malloc in make_queues (fixture.c:"),
            "{calls:?}"
        );
    };
    check([64, 256], 16);
    check([64, 256 + 16], 16);
    check([64, 256 + 8], 8);
}

#[test]
fn an_array_is_one_allocation_of_its_elements() {
    let stack = format!("{:x}", return_address("make_queues", "malloc"));
    let elements = [0, 16, 32].map(|offset| in_function("load_head", load(0, HEAP + 64 + offset)));
    let ranges = vec![range(RangeKind::Heap, HEAP + 64, 6000 * 16, &stack)];
    let recording = in_ranges("program", elements.repeat(20), ranges);
    let gathered = recording.gather("queue");
    assert_eq!(gathered.objects, 3);
    assert_eq!(gathered.size_effects.array_elements, 6000);
    let home = ObjectHome::Heap {
        first: Addr(HEAP + 64),
        align: 16,
        count: 6000,
        follows_type: false,
    };
    check_home(&recording, "queue", &home);
}

#[test]
fn an_allocation_that_is_told_an_alignment_shows_it() {
    let check = |offset: u64, align: u32| {
        let recording = allocated("aligned_alloc", [offset, 2048 + 16]);
        let gathered = recording.gather("queue");
        let ObjectHome::Heap { align: found, .. } = gathered.instances[0].home else {
            panic!("{:?}", gathered.instances[0].home);
        };
        assert_eq!(found, align);
    };
    check(128, 128);
    check(64 + 16, 16);
    // A page says nothing of what was asked for.
    check(0, 4096);
}

#[test]
fn mapped_pages_begin_at_pages() {
    // Memory of a program without a description comes from an allocator, too.
    let home = |target: &str, base: u64| {
        let step = in_function("load_head", load(0, base));
        let recording = in_ranges(target, vec![step; 20], Vec::new());
        let gathered = recording.gather("queue");
        gathered.instances[0].home.clone()
    };
    let heap = |base: u64, align: u32| ObjectHome::Heap {
        first: Addr(base),
        align,
        count: 1,
        follows_type: false,
    };
    assert_eq!(home("program", HEAP), heap(HEAP, 4096));
    assert_eq!(home("program", HEAP + 64), heap(HEAP + 64, 16));
    assert_eq!(home("kernel", HEAP), ObjectHome::Fixed);
}
