//! Members of a type with the functions that load and store them.

use crate::advice::fixture::address_of;
use crate::advice::recording::{Recording, add, in_function, load, store};

#[test]
fn uses_of_a_member_are_counted_by_kind_context_and_function() {
    let hot = address_of("hot");
    let steps = [
        in_function("store_second", store(0, hot + 8)),
        in_function("store_second", store(1, hot + 8)),
        load(1, hot),
        add(1, hot),
    ];
    let recording = Recording::of_kernel([steps.repeat(20), vec![load(0, hot)]].concat());
    let advised = recording.advise("hot");
    let uses: Vec<(&str, bool, u64, usize)> = { advised.accesses.iter() }
        .map(|uses| {
            (
                uses.member.as_str(),
                uses.is_store,
                uses.count,
                uses.contexts,
            )
        })
        .collect();
    let expect = [
        ("second", true, 40, 2),
        ("first", false, 21, 2),
        ("first", true, 20, 1),
    ];
    assert_eq!(uses, expect);
    assert_eq!(
        advised.accesses[0].functions,
        [("store_second".to_owned(), 40)]
    );
    assert!(advised.accesses[1].functions.is_empty());
}

#[test]
fn the_members_and_functions_with_the_most_accesses_are_listed() {
    let many = address_of("many");
    let member = |index: u64| vec![load(0, many + 8 * index); 1 + index as usize];
    let recording = Recording::of_kernel((0..10).flat_map(member).collect());
    let advised = recording.advise("many");
    let names = advised.accesses.iter().map(|uses| uses.member.as_str());
    assert_eq!(names.collect::<String>(), "jihgfedc");

    let second = address_of("hot") + 8;
    let functions = [
        ("store_second", 4),
        ("store_first", 3),
        ("store_in_assembler", 2),
        ("store_by_own", 1),
    ];
    let steps =
        functions.map(|(function, count)| vec![in_function(function, store(0, second)); count]);
    let recording = Recording::of_kernel(steps.concat());
    let advised = recording.advise("hot");
    let listed: Vec<(&str, u64)> = { advised.accesses[0].functions.iter() }
        .map(|(function, count)| (function.as_str(), *count))
        .collect();
    assert_eq!(
        listed,
        [
            ("store_second", 4),
            ("store_first", 3),
            ("store_in_assembler", 2)
        ]
    );
}
