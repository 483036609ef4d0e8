//! Rules that apply: by configuration, by file and its machine, and by the date of a waiver.

use super::{HEADER, check, place};

/// Sections with conditions of all kinds; what is asserted in each cannot hold, and tells which
/// counted.
const SECTIONS: &str = "\
[configuration.debug]
kconfig = ['CONFIG_LOCKDEP=y']
cacheline_size = 128
[configuration.other]

[[section]]
has = ['mm.lock.owner', '!mm.nothing', 'struct lock']
type = [{ name = 'mm', size = 1 }]
[[section]]
configuration = 'debug'
type = [{ name = 'mm', same_line = ['users', 'flags'] }, { name = 'mm', size = 2 }]
[[section]]
not_configuration = ['debug', 'other']
type = [{ name = 'mm', size = 3 }]
[[section]]
configuration = 'other'
type = [{ name = 'mm', size = 4 }]
[[section]]
files = ['b.o', '*/c.o']
type = [{ name = 'mm', size = 5 }]
[[section]]
has = '!mm.lock'
type = [{ name = 'mm', size = 6 }]
";

#[test]
fn sections_apply_where_their_conditions_hold() {
    let place = place(HEADER, SECTIONS);
    let sizes = |words: &str| {
        let ended = place.run_words(&format!("check {words}"));
        let found = ended.stdout.lines().filter_map(|line| {
            let rest = line.trim().strip_prefix("expected")?;
            Some(rest.trim().split(' ').next()?.to_owned())
        });
        (found.collect::<Vec<_>>().join(" "), ended.stderr)
    };
    place.write("lockdep", "CONFIG_LOCKDEP=y\n");
    place.write("plain", "CONFIG_SMP=y\n# CONFIG_LOCKDEP is not set\n");
    let check = |words: &str, expect: &str, stderr: &str| {
        let (found, said) = sizes(words);
        assert_eq!(
            (found.as_str(), said.trim_end()),
            (expect, stderr),
            "{words}"
        );
    };
    check("--kconfig plain a.o", "1 3", "");
    check(
        "--kconfig plain b.o",
        "",
        "relayout: cannot read the types of b.o: No such file or directory (os error 2)",
    );
    std::fs::copy(place.path("a.o"), place.path("b.o")).unwrap();
    check("--kconfig plain b.o", "1 3 5", "");
    check("--kconfig lockdep a.o", "1 2", "");
    check("--kconfig plain --configuration other a.o", "1 4", "");
    check(
        "a.o",
        "",
        "relayout: whether the rules at 1:16 apply to a.o cannot be told: they need kconfig \
         CONFIG_LOCKDEP=y, and the kernel's .config was not given (--kconfig FILE)",
    );
    check(
        "--kconfig plain --configuration debug a.o",
        "",
        "relayout: a.o is not of configuration `debug`: that needs kconfig CONFIG_LOCKDEP=y",
    );
    check(
        "--kconfig plain --configuration debg a.o",
        "",
        "relayout: the configuration file has no configuration `debg`; did you mean `debug`?",
    );
    check(
        "--kconfig mm.h a.o",
        "",
        "relayout: mm.h is no kernel configuration: no line of it sets an option",
    );
    // As a kernel's build leaves it.
    place.write(".config", "CONFIG_LOCKDEP=y\n");
    check("a.o", "1 2", "");
}

#[test]
fn waivers_hold_until_their_day() {
    let rules = "\
[[type]]
name = 'mm'
size = 1
align = 64
[[waiver]]
type = 'm*'
rule = 'size'
reason = 'grew for good'
expires = 2027-01-31
[[waiver]]
type = 'nothing'
reason = 'old'
expires = 2030-01-01
[[waiver]]
type = 'mm'
rule = 'align'
reason = 'slab aligns it'
expires = 2026-01-31
";
    let place = place(HEADER, rules);
    let expired = |waived: &str, count: &str| {
        format!(
            "{waived}[DIR]/mm.h:2: mm violates align\n  expected   aligned to 64 bytes\n  found      aligned to 8 bytes\n  \
             waived     until 2026-01-31, which is past: slab aligns it (relayout.toml:14)\n  \
             rule       relayout.toml:4, in a.o\n\n{count}"
        )
    };
    let waived = "waived until 2027-01-31: mm violates size: expected 1 byte, found 144 bytes\n  \
                  because    grew for good (relayout.toml:5)\n\n";
    check(
        &place,
        "check --today 2027-01-31 a.o",
        1,
        &expired(
            "",
            &format!("{waived}2 assertions checked, 1 violated; 1 waived"),
        ),
    );
    let size = "[DIR]/mm.h:2: mm violates size\n  expected   1 byte\n  found      144 bytes\n  \
                waived     until 2027-01-31, which is past: grew for good (relayout.toml:5)\n  \
                rule       relayout.toml:3, in a.o\n\n";
    check(
        &place,
        "check --today 2027-02-01 a.o",
        1,
        &expired(size, "2 assertions checked, 2 violated"),
    );
    let both = "waived until 2027-01-31: mm violates size: expected 1 byte, found 144 bytes\n  \
         because    grew for good (relayout.toml:5)\n\nwaived until 2026-01-31: mm violates align: \
         expected aligned to 64 bytes, found aligned to 8 bytes\n  because    slab aligns it \
         (relayout.toml:14)\n\n2 assertions checked, none violated; 2 waived";
    check(&place, "check --today 2026-01-31 a.o", 0, both);
    // 2026-01-31 in the afternoon.
    let mut command = place.relayout(&["check", "a.o"]);
    let ended = place.ended(command.env("SOURCE_DATE_EPOCH", "1769871600"));
    assert_eq!(ended.stdout.trim_end(), both);
    assert_eq!(
        ended.stderr,
        "relayout: relayout.toml:10:1: the waiver for nothing matches no violation; take it out\n"
    );
}

/// Several files, of another processor too; conditions tell them apart.
#[cfg(target_arch = "x86_64")]
#[test]
fn files_of_two_sizes_of_pointers() {
    let rules = "\
[configuration.wide]
pointer_size = 8
machine = 'x86_64'
[[section]]
configuration = 'wide'
type = [{ name = 'mm', size = 144 }]
[[section]]
machine = 'i386'
pointer_size = 4
endian = 'little'
cacheline_size = 32
type = [{ name = 'mm', size = 1, same_line = ['users', 'flags'] }]
";
    let place = place(HEADER, rules);
    let include = format!("-I{}", place.path("").display());
    let source = "#include \"mm.h\"\nstruct mm mm;\n";
    place.compile("b.o", source, &["-g", "-c", "-m32", &include]);
    check(
        &place,
        "check a.o b.o",
        1,
        "
[DIR]/mm.h:2: mm violates size
  expected   1 byte
  found      96 bytes
  rule       relayout.toml:12, in b.o

[DIR]/mm.h:7: mm.flags violates same_line
  expected   on one line with users
  found      users at 0 on line 0, flags at 56 on line 1
  between    pad, lock, tag
  rule       relayout.toml:12, in b.o

3 assertions checked, 2 violated",
    );
}
