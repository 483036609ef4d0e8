//! Recorded objects of a type: their number, their memory, and what else the size of the type affects.

use relayout_advice::gather_type;
use relayout_profile::{Addr, RangeKind, RangeRow};
use relayout_search::ObjectHome;
use relayout_testprofile::Step;

use crate::fixture::{address_of, return_address};
use crate::recording::{
    HEAP, Recording, add, hot_turns, in_function, load, made_profile, named_objects, range, store,
    turns,
};

/// A recording of accesses to memory that these ranges describe.
fn in_ranges(target: &str, steps: Vec<Step>, ranges: Vec<RangeRow>) -> Recording {
    let mut profile = made_profile(target, &[steps]);
    profile.ranges = ranges;
    Recording::resolve(profile)
}

#[test]
fn objects_are_counted_with_and_without_transfers() {
    let start = address_of("workers");
    // Of four elements, two are contended; one was loaded before anybody stored.
    let steps = [vec![load(0, start + 32)], turns([start, start + 16], 20)].concat();
    let recording = Recording::of_kernel(steps);
    let gathered = recording.gather("worker");
    assert_eq!((gathered.objects, gathered.contended_objects), (3, 2));
    assert_eq!(gathered.size_effects.array_elements, 4);
    assert!(!gathered.is_whole);
    assert!(gathered.size_effects.holder_counts.is_empty());
}

#[test]
fn upgrades_do_not_make_an_object_contended() {
    let hot = address_of("hot");
    // Both load what nobody stored to, then one stores.
    let steps = vec![load(0, hot), load(1, hot), store(0, hot)];
    let gathered = Recording::of_kernel(steps);
    assert!(gathered.profile.conflicts.iter().any(|row| row.count > 0));
    assert_eq!(gathered.gather("hot").contended_objects, 0);
}

#[test]
fn a_struct_is_gathered_inside_of_others_too() {
    let [outer, later] = ["embedded", "embedded_later"].map(address_of);
    let steps = [
        turns([outer, outer + 8], 20),
        vec![load(0, later + 8), load(0, later + 16)],
    ];
    let recording = Recording::of_kernel(steps.concat());
    let gathered = recording.gather("worker");
    assert_eq!((gathered.objects, gathered.contended_objects), (2, 1));
    let holders: Vec<(&str, u64)> = { gathered.size_effects.holder_counts.iter() }
        .map(|(name, count)| (name.as_str(), *count))
        .collect();
    assert_eq!(holders, [("embedded", 1), ("embedded_later", 1)]);
    let bases: Vec<Addr> = { gathered.instances.iter() }
        .map(|instance| instance.trace.base)
        .collect();
    assert_eq!(bases, [Addr(outer), Addr(later + 8)]);
    assert_eq!(gathered.size_effects.array_elements, 0);
}

#[test]
fn a_struct_is_gathered_in_arrays_that_are_members() {
    let pool = address_of("pool");
    let recording = Recording::of_kernel(turns([pool + 8, pool + 24], 20));
    let gathered = recording.gather("worker");
    assert_eq!((gathered.objects, gathered.contended_objects), (2, 2));
    // Both share a line, and are replayed together.
    let instance = &gathered.instances[0];
    assert_eq!(instance.trace.base, Addr(pool + 8));
    assert_eq!(instance.starts().collect::<Vec<_>>(), [0, 16]);
    assert_eq!(instance.home, ObjectHome::Fixed);
}

#[test]
fn elements_of_an_array_are_one_row_and_other_neighbours_at_most_eight() {
    let starts = |recording: &Recording, name: &str| -> Vec<u32> {
        let gathered = recording.gather(name);
        let instances = gathered.instances.iter();
        instances.map(|instance| instance.objects()).collect()
    };
    let counters = address_of("counters");
    let steps = (0..16).map(|index| load(0, counters + 8 * index));
    let recording = Recording::of_kernel(steps.collect());
    assert_eq!(starts(&recording, "counters"), [16]);
    // Each is an allocation of its own, 24 bytes behind the one before.
    let object = |index: u64| HEAP + 24 * index;
    let ranges = (0..10).map(|index| named_objects("struct queue", object(index), 16, 0));
    let steps = (0..10).map(|index| load(0, object(index)));
    let recording = in_ranges("program", steps.collect(), ranges.collect());
    assert_eq!(starts(&recording, "queue"), [8, 2]);
}

#[test]
fn copies_of_each_cpu_are_counted() {
    let copies = address_of("per_cpu_worker");
    let copy = |cpu: u32| RangeRow {
        first: Addr((HEAP + u64::from(cpu) * 64).wrapping_sub(copies)),
        id: cpu,
        ..range(RangeKind::PerCpu, HEAP + u64::from(cpu) * 64, 16, "")
    };
    let steps = [store(0, HEAP), store(1, HEAP + 64 + 8)].repeat(20);
    let recording = in_ranges("kernel", steps, vec![copy(0), copy(1)]);
    let gathered = recording.gather("per_cpu_worker");
    assert_eq!(gathered.name, "worker");
    assert_eq!(gathered.size_effects.per_cpu_objects, 2);
    let variable = Recording::of_kernel(vec![load(0, address_of("workers"))]);
    assert_eq!(variable.gather("worker").size_effects.per_cpu_objects, 0);
}

#[test]
fn numbers_and_unions_are_laid_out_as_a_whole() {
    let check = |variable: &str, size: u64| {
        let start = address_of(variable);
        let recording = Recording::of_kernel(turns([start, start + 8], 20));
        let gathered = recording.gather(variable);
        assert!(gathered.is_whole);
        assert_eq!(gathered.aggregate.size, size);
        assert_eq!(gathered.shape.atoms.len(), 1);
        assert!(gathered.order_query().is_none());
    };
    check("slots", 8);
    check("counters", 8);
}

#[test]
fn elements_of_a_flexible_array_have_a_size() {
    let tail_bytes = |variable: &str| {
        let recording = Recording::of_kernel(vec![load(0, address_of(variable))]);
        recording.gather(variable).tail_element_bytes
    };
    assert_eq!(tail_bytes("packet"), 4);
    assert_eq!(tail_bytes("hot"), 0);
    assert_eq!(tail_bytes("workers"), 0);
}

#[test]
fn an_object_includes_its_flexible_array() {
    let steps = vec![load(0, HEAP), store(1, HEAP + 40)];
    let whole = in_ranges(
        "program",
        steps.clone(),
        vec![named_objects("struct packet", HEAP, 64, 0)],
    );
    let accesses = |recording: &Recording| {
        let gathered = recording.gather("packet");
        let instances = gathered.instances.iter();
        let offsets = instances.flat_map(|instance| &instance.trace.accesses);
        offsets.map(|access| access.offset).collect::<Vec<_>>()
    };
    assert_eq!(accesses(&whole), [0, 40]);
    // A struct of a fixed size ends.
    let hot = in_ranges(
        "program",
        vec![load(0, HEAP), store(1, HEAP + 40)],
        vec![named_objects("struct queue", HEAP, 64, 0)],
    );
    let gathered = hot.gather("queue");
    assert_eq!(gathered.instances[0].trace.accesses.len(), 1);
}

#[test]
fn slots_of_a_slab_are_counted_by_cache() {
    let slab = RangeRow {
        stride: 64,
        object_bytes: 16,
        ..range(RangeKind::Slab, HEAP, 4096, "queue")
    };
    let small = RangeRow {
        start: Addr(HEAP + 8192),
        bytes: 1024,
        ..slab.clone()
    };
    let steps = vec![in_function("load_head", load(0, HEAP + 64))];
    let recording = in_ranges("kernel", steps, vec![small, slab]);
    let gathered = recording.gather("queue");
    let per_slab: Vec<(&str, u64)> = { gathered.size_effects.objects_per_slab.iter() }
        .map(|(cache, count)| (cache.as_str(), *count))
        .collect();
    assert_eq!(per_slab, [("queue", 64)]);
    let home = ObjectHome::Slab {
        cache: "queue".to_owned(),
        first: Addr(HEAP),
        stride: 64,
        object_bytes: 16,
    };
    assert_eq!(gathered.instances[0].home, home);
    assert_eq!(gathered.instances[0].trace.base, Addr(HEAP + 64));
}

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

#[test]
fn pinned_members_are_members_of_the_struct() {
    let recording = Recording::of_kernel(hot_turns(20));
    let resolved = recording.resolved();
    let pinned = |member: &str| {
        let gathered = gather_type(&resolved, "hot", &[member.to_owned()]);
        gathered
            .map(|gathered| gathered.pinned)
            .map_err(|error| error.to_string())
    };
    assert_eq!(pinned("second"), Ok(vec!["second".to_owned()]));
    let message = pinned("secnd").expect_err("no member");
    assert!(
        message.starts_with("struct hot has no member 'secnd'"),
        "{message}"
    );
    assert!(message.contains("second"), "{message}");
}

#[test]
fn a_file_of_rust_declares_a_struct_of_rust() {
    let gathered = |variable: &str| {
        let recording = Recording::of_program(vec![load(0, address_of(variable))]);
        let gathered = recording.gather(variable);
        (gathered.is_rust(), gathered.is_compiler_ordered())
    };
    assert_eq!(gathered("hot"), (false, false));
    assert_eq!(gathered("ring"), (true, true));
    // The compiler would have another order.
    assert_eq!(gathered("ring_of_c"), (true, false));
}

#[test]
fn accesses_of_each_stretch_are_the_type_s_own() {
    let hot = address_of("hot");
    let others = address_of("workers");
    let steps = [add(0, hot), add(1, others), add(1, hot + 8)];
    let recording = Recording::of_kernel(steps.repeat(10));
    let gathered = recording.gather("hot");
    let accesses = gathered
        .instances
        .iter()
        .map(|instance| instance.trace.accesses.len());
    assert_eq!(accesses.sum::<usize>(), 20);
}
