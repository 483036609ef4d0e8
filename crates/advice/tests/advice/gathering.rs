//! Recorded objects of a type: their number, their memory, and what else the size of the type affects.

use relayout_advice::gather_type;
use relayout_profile::{Addr, RangeKind, RangeRow};
use relayout_search::ObjectHome;
use relayout_testprofile::Step;

use crate::advice::fixture::address_of;
use crate::advice::recording::{
    HEAP, Recording, add, hot_turns, in_function, load, made_profile, named_objects, range, store,
    turns,
};

/// A recording of accesses to memory that these ranges describe.
pub fn in_ranges(target: &str, steps: Vec<Step>, ranges: Vec<RangeRow>) -> Recording {
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
