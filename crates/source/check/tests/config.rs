//! Tests of the syntax of `relayout.toml` and of its error messages.

use proptest::prelude::*;
use relayout_check::{
    AsRecorded, CheckConfig, Date, KconfigOption, LayoutRule, MachineArchitecture, MemberPattern,
    RuleId, SectionCondition,
};

const WHOLE: &str = r#"
[defaults]
cacheline_size = 64

[configuration.rt]
kconfig = ["CONFIG_PREEMPT_RT=y", "CONFIG_NR_CPUS=512"]

[configuration.big]
machine = ["ppc", "s390x"]
cacheline_size = 256

[[type]]
name = "struct mm_struct"
reason = "count and owner are written by every page fault"
size_max = 0x580
align = 64
at = { pgd = 80, mmap_lock.owner = 128, "mmap_lock.count" = 120 }
aligned = { mmap_lock = 8 }
same_line = ["mmap_lock.count", "mmap_lock.owner"]
within_line = [["mmap_lock.*"]]
different_lines = [["mm_count", "mmap_lock.*"], ["mm_users", "mm_count"]]
different_pairs = [["mm_count", "mm_users"]]
no_straddle = ["mmap_lock"]
as_recorded = "offsets"

[[section]]
configuration = "big"
not_configuration = ["rt"]
files = ["*.ko", "vmlinux*"]
machine = "x86_64"
pointer_size = 8
endian = "little"
build_id = ["0123ABCD"]
has = ["spinlock.rlock.dep_map", "!ns::Vec<1.5, a::b>.len"]
cacheline_size = 128

[[section.type]]
name = "net::Socket<*>"
declared_in = "*.rs"
optional = true
as_recorded = true

[[waiver]]
type = "mm_*"
rule = "size_max"
member = "a.*"
files = "*.ko"
reason = "until the rework lands"
expires = 2027-01-31
"#;

fn path(text: &str) -> MemberPattern {
    MemberPattern::parse(text).unwrap()
}

fn whole_config() -> CheckConfig {
    CheckConfig::parse(&WHOLE.replace("\"ppc\"", "\"powerpc\"")).unwrap()
}

#[test]
fn configurations_with_their_conditions() {
    let config = whole_config();
    assert_eq!(config.line_bytes, Some(64));
    let [rt, big] = &config.configurations[..] else {
        panic!("{config:?}");
    };
    let kconfig = |option: &str, value: &str| KconfigOption {
        option: option.to_owned(),
        value: value.to_owned(),
    };
    assert_eq!(
        rt.conditions,
        [SectionCondition::Kconfig(vec![
            kconfig("CONFIG_PREEMPT_RT", "y"),
            kconfig("CONFIG_NR_CPUS", "512")
        ])]
    );
    assert_eq!((big.name.as_str(), big.line_bytes), ("big", Some(256)));
    assert_eq!(
        big.conditions,
        [SectionCondition::Machine(vec![
            MachineArchitecture::Powerpc,
            MachineArchitecture::S390
        ])]
    );
}

#[test]
fn rules_of_each_kind() {
    let config = whole_config();
    let mm = &config.sections[0].types[0];
    let rules: Vec<&LayoutRule> = mm
        .assertions
        .iter()
        .map(|assertion| &assertion.rule)
        .collect();
    let groups = |paths: &[&str]| paths.iter().map(|text| path(text)).collect();
    let at = |member: &str, offset| LayoutRule::At {
        member: path(member),
        offset,
    };
    assert_eq!(
        rules,
        [
            &LayoutRule::SizeMax(1408),
            &LayoutRule::Align(64),
            &at("pgd", 80),
            &at("mmap_lock.owner", 128),
            &at("mmap_lock.count", 120),
            &LayoutRule::Aligned {
                member: path("mmap_lock"),
                bytes: 8
            },
            &LayoutRule::SameLine(groups(&["mmap_lock.count", "mmap_lock.owner"])),
            &LayoutRule::WithinLine(groups(&["mmap_lock.*"])),
            &LayoutRule::DifferentLines(groups(&["mm_count", "mmap_lock.*"])),
            &LayoutRule::DifferentLines(groups(&["mm_users", "mm_count"])),
            &LayoutRule::DifferentPairs(groups(&["mm_count", "mm_users"])),
            &LayoutRule::NoStraddle(path("mmap_lock")),
            &LayoutRule::AsRecorded(AsRecorded::Offsets),
        ]
    );
    assert_eq!(mm.assertions[0].at.to_string(), "15:12");
}

#[test]
fn sections_and_waivers() {
    let config = whole_config();
    let [_, section] = &config.sections[..] else {
        panic!("{config:?}");
    };
    assert_eq!(section.configurations, ["big"]);
    assert_eq!(section.not_configurations, ["rt"]);
    assert_eq!(section.conditions.len(), 6);
    assert_eq!(section.line_bytes, Some(128));
    let SectionCondition::Has(has) = &section.conditions[5] else {
        panic!("{section:?}");
    };
    assert_eq!(has[1].type_name.as_str(), "ns::Vec<1.5, a::b>");
    assert!(has[1].not && section.types[0].optional);

    let waiver = &config.waivers[0];
    assert_eq!(waiver.rule, Some(RuleId::SizeMax));
    assert_eq!(Some(waiver.expires), Date::new(2027, 1, 31));
}

#[track_caller]
fn check(text: &str, expect: &str) {
    let error = CheckConfig::parse(text).unwrap_err();
    assert_eq!(error.to_string(), expect);
}

#[test]
fn unknown_keys_name_the_nearest() {
    check(
        "[[type]]\nname = 'a'\nsize_mx = 1\nsize = 1",
        "3:1: unknown key `size_mx`; did you mean `size_max`?",
    );
    check(
        "[defaults]\nx = 1",
        "2:1: unknown key `x`; keys here are `cacheline_size`",
    );
    check(
        "[[section]]\ncofiguration = 'rt'\n[[waivers]]",
        "2:1: unknown key `cofiguration`; did you mean `configuration`?\n\
         3:3: unknown key `waivers`; did you mean `waiver`?",
    );
}

#[test]
fn values_of_another_type() {
    check(
        "[[type]]\nname = 'a'\nsize = -1\nalign = 48\nas_recorded = 'all'\noptional = 1",
        "3:8: this is the integer -1, not an integer from 0 on\n\
         4:9: 48 is no power of two\n\
         5:15: `all` must be true, `lines` or `offsets`\n\
         6:12: this is the integer 1, not true or false",
    );
    check("type = 1", "1:8: this is the integer 1, not a list");
    check(
        "[[type]]\nname = 'ä' \nat = { 'ä.' = 80, b = 'c', 'd*' = 1 }",
        "3:15: `ä.` is no member's path: write names, with an index where an element of an array \
         is meant, and dots between (`lists[2].next`)\n\
         3:23: this is a string, not an integer from 0 on\n\
         3:35: `d*` can match several members, which cannot all begin at one offset",
    );
}

#[test]
fn rules_that_say_nothing() {
    check("[[type]]\nname = 'a'", "1:1: this [[type]] asserts nothing");
    check("[[type]]\nsize = 1", "1:1: a [[type]] needs the key `name`");
    check(
        "[[type]]\nname = 'a'\nsame_line = [['b']]\ndifferent_lines = []\nwithin_line = [[]]",
        "3:14: this takes at least two members\n\
         4:19: the list is empty\n\
         5:16: the list is empty",
    );
    assert!(CheckConfig::parse("[[type]]\nname = 'a'\nsame_line = [['b*']]").is_ok());
    check(
        "[[type]]\nname = 'a'\ndifferent_lines = [['b*']]",
        "3:20: this takes at least two members",
    );
}

#[test]
fn conditions_that_cannot_be_met() {
    check(
        "[[section]]\nconfiguration = ['rt']\nmachine = 'x86'\npointer_size = 16\nendian = 'middle'\n\
         build_id = ['12']\nkconfig = ['SMP']\nhas = ['a*']",
        "2:18: there is no configuration `rt`; give it a table [configuration.rt], which may be empty\n\
         3:11: unknown machine `x86`; did you mean `x86_64`?\n\
         4:16: pointers have 4 or 8 bytes, not 16\n\
         5:10: this must be `little` or `big`\n\
         6:13: `12` is not the beginning of a build id: at least 8 hexadecimal digits\n\
         7:12: `SMP` is no option of a kernel's .config with its value: write `CONFIG_SMP=y`, or `=n` where it is not set\n\
         8:8: `a*` must name one type or member, without `*` and `?`",
    );
}

#[test]
fn waivers_need_a_reason_and_an_end() {
    check(
        "[[waiver]]\ntype = 'a'\nreason = ' '\nexpires = 2027-02-30",
        "4:11: not TOML: invalid date, expected day between 01 and 28",
    );
    check(
        "[[waiver]]\ntype = 'a'\nreason = ' '\nexpires = '2027-02-30'\nrule = 'size_maks'",
        "3:10: the reason is empty\n\
         4:11: this is a string, not a date (2027-01-31)\n\
         5:8: unknown rule `size_maks`; did you mean `size_max`?",
    );
    check(
        "[[waiver]]\ntype = 'a'",
        "1:1: a [[waiver]] needs the key `reason`\n\
         1:1: a [[waiver]] needs the key `expires`",
    );
}

proptest! {
    #[test]
    fn damaged_text_is_read_or_refused(at in 0..WHOLE.len(), bytes in "\\PC{0,12}", cut in 0..40usize) {
        let mut text = WHOLE.as_bytes().to_vec();
        let end = (at + cut).min(text.len());
        text.splice(at..end, bytes.bytes());
        if let Err(error) = CheckConfig::parse(&String::from_utf8_lossy(&text)) {
            prop_assert!(!error.problems.is_empty());
            prop_assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in "(\\[|\\]|\\{|\\}|\"|'|=|,|\\.|\n|type|name|section|at|waiver|same_line|[a-z0-9*-]| ){0,60}") {
        let _ = CheckConfig::parse(&text);
    }

    #[test]
    fn any_letters_are_read_or_refused(text in "\\PC*") {
        let _ = CheckConfig::parse(&text);
    }
}
