//! Moves in C++ classes of all forms. Both versions are compiled without warnings, and the offsets in
//! the new debug information are those that the ABI engine predicts from the old.

use std::path::Path;
use std::process::Command;

use relayout_layout::Aggregate;
use relayout_layout::abi::AbiEngine;
use relayout_layout::catalog::{DebugInfoFormat, TypeCatalog};
use relayout_layout::dwarf::SectionStore;
use relayout_patch::{
    MemberPosition, SourceChange, SourceText, StructSource, WrittenAlignment, edit_struct,
    edit_struct_in_tree,
};
use relayout_testkit::require_programs;

const FLAGS: [&str; 9] = [
    "-c",
    "-g",
    "-O0",
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-Wreorder",
    "-Wno-unknown-warning-option",
];

/// Debug information of a class in a compiled text.
fn compiled<T>(text: &str, class: &str, read: impl Fn(&AbiEngine<'_>, &Aggregate) -> T) -> T {
    require_programs(&["g++", "clang++"]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("unit.cc");
    std::fs::write(&source, text).expect("the source");
    // Clang calls private members of a class without friends unused.
    compile("clang++", &["-Wno-unused-private-field"], &source, text);
    let object = compile("g++", &[], &source, text);
    let store = SectionStore::default();
    let catalog =
        TypeCatalog::parse(&object, &store, DebugInfoFormat::Any).expect("the object has types");
    let loaded = catalog.load(&catalog.aggregates()).expect("types load");
    let found = loaded.ids.iter().find_map(|id| {
        let aggregate = loaded.types.aggregate(*id)?;
        (aggregate.name.as_deref() == Some(class)).then(|| aggregate.clone())
    });
    let aggregate = found.unwrap_or_else(|| panic!("no {class} in\n{text}"));
    let abi = AbiEngine::new(&loaded.types).alignments_recorded(true);
    let flattened = abi.flatten_anonymous(&aggregate);
    read(&abi, flattened.as_ref().unwrap_or(&aggregate))
}

fn compile(program: &str, more: &[&str], source: &Path, text: &str) -> Vec<u8> {
    let object = source.with_extension("o");
    let mut command = Command::new(program);
    command
        .args(FLAGS)
        .args(more)
        .arg(source)
        .arg("-o")
        .arg(&object);
    let done = command.output().expect("the compiler runs");
    let errors = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{program}: {errors}\n{text}");
    std::fs::read(object).expect("an object")
}

/// Names of members, first bits and the size.
type CompiledOffsets = (Vec<(String, u64)>, u64);

fn offsets(aggregate: &Aggregate) -> CompiledOffsets {
    let members = aggregate.members.iter().filter(|member| !member.is_base);
    let mut found: Vec<(String, u64)> = { members }
        .map(|member| {
            let bits = member.bits.map(|bits| bits.offset_bits);
            let first = bits.unwrap_or(member.offset * 8);
            (member.name.clone().unwrap_or_default(), first)
        })
        .filter(|(name, _)| !name.starts_with("_vptr"))
        .collect();
    found.sort_by_key(|(_, first)| *first);
    (found, aggregate.size)
}

/// Offsets that the engine predicts for `class` with `moved` behind `anchor`, or first.
fn predicted(text: &str, class: &str, moved: &[&str], anchor: Option<&str>) -> CompiledOffsets {
    compiled(text, class, |abi, aggregate| {
        let shape = abi
            .shape(aggregate)
            .unwrap_or_else(|error| panic!("{error}"));
        let atom = |name: &str| {
            let found = shape.atoms.iter().position(|atom| atom.is_called(name));
            found.unwrap_or_else(|| panic!("no atom {name}"))
        };
        let mut arrangement = shape.current_arrangement();
        let mut own: Vec<usize> = moved.iter().map(|name| atom(name)).collect();
        own.dedup();
        arrangement.order.retain(|index| !own.contains(index));
        let at = match anchor {
            Some(name) => {
                let anchor = atom(name);
                let place = arrangement.order.iter().position(|index| *index == anchor);
                place.expect("the anchor stays") + 1
            }
            None => 0,
        };
        arrangement.order.splice(at..at, own);
        let layout = shape.lay_out(&arrangement);
        offsets(&shape.apply_arrangement(aggregate, &arrangement, &layout))
    })
}

fn move_change(moved: &[&str], anchor: Option<&str>) -> SourceChange {
    SourceChange::MoveMembers {
        members: moved.iter().map(|name| (*name).to_owned()).collect(),
        to: anchor.map_or(MemberPosition::First, |name| {
            MemberPosition::After(name.to_owned())
        }),
        spacing: None,
        reason: None,
    }
}

/// Moves members, and compares the compiled offsets with the predicted ones.
#[track_caller]
fn check(text: &str, class: &str, moved: &[&str], anchor: Option<&str>) -> String {
    let tag = class.split('<').next().unwrap_or(class);
    let change = move_change(moved, anchor);
    let new = edit_struct("unit.cc", text, tag, None, &[change]);
    let new = new.unwrap_or_else(|refusal| panic!("{moved:?}: {refusal}"));
    assert_ne!(new, text);
    let found = compiled(&new, class, |_, aggregate| offsets(aggregate));
    let expect = predicted(text, class, moved, anchor);
    assert_eq!(found, expect, "{moved:?} behind {anchor:?}:\n{new}");
    new
}

#[track_caller]
fn check_refused(text: &str, class: &str, change: SourceChange, expect: &str) {
    match edit_struct("unit.cc", text, class, None, &[change]) {
        Ok(new) => panic!("not refused: {new}"),
        Err(refusal) => assert!(refusal.to_string().contains(expect), "{refusal}"),
    }
}

/// Statements that declare no data member stand between those that do.
const FORMS: &str = "\
#include <atomic>
#include <array>
#include <functional>
#define DISALLOW_COPY(NAME) \\
  NAME(const NAME&) = delete; \\
  NAME& operator=(const NAME&) = delete;
#define NOTHING
#define GUARDED_BY(LOCK)
class Other;
class Forms {
  DISALLOW_COPY(Forms)
  NOTHING
 public:
  enum class State { kOpen, kClosed };
  struct Inner { int a; int b; };
  struct Later;
  using Index = unsigned long;
  typedef int Small;
  static int count;
  inline static long total = 0;
  constexpr static int kMax = 4;
  static constexpr std::array<int, 2> kPair{1, 2};
  friend class Other;
  friend bool operator==(const Forms& a, const Forms& b) { return a.first == b.first; }
  template <typename T>
  T as() const { return static_cast<T>(first); }

  Forms() = default;
  explicit Forms(long start) noexcept : first(start), second{start + 1} {}
  virtual ~Forms() = default;
  bool operator<(const Forms& other) const { return first < other.first; }
  long operator()(int a, int b) const { return a + b + first; }
  explicit operator bool() const noexcept { return first != 0; }
  long* operator->() { return &first; }
  auto twice() const -> long { return first * 2; }
  virtual void step(int by) { first += by > 1 ? by : 1; }

  long first = kMax > 2 ? 1 : 2;
  std::atomic<long> second{0};
  std::function<int(int, int)> third_ = [](int a, int b) { return a < b ? a : b; };
  long (*handler)(long, int) = nullptr;
  int (Forms::*method)(int) const = nullptr;
  int (*table)[4] = nullptr;
  char* end = nullptr;
  mutable char flag = 'a';
  State state{State::kOpen};
  Inner inner{1, kMax};
  std::array<std::array<int, 2>, 2> grid{{{1, 2}, {3, 4}}};
  alignas(16) char text[8] = {'a', 0};
  [[maybe_unused]] const volatile short last = 3;
  int guarded GUARDED_BY(second) = 0;
  struct { int x; int y; } point{1, 2};
};
int Forms::count = 0;
Forms forms;
";

#[test]
fn every_form_of_a_member_moves() {
    let members = [
        "first", "second", "third_", "handler", "method", "table", "flag", "state", "inner",
        "grid", "text", "last", "guarded", "point",
    ];
    for (index, member) in members.into_iter().enumerate() {
        let anchor = members[(index + 5) % members.len()];
        check(FORMS, "Forms", &[member], Some(anchor));
    }
    let new = check(FORMS, "Forms", &["flag"], Some("first"));
    assert!(
        new.contains("1 : 2;\n  mutable char flag = 'a';\n"),
        "{new}"
    );
}

/// The value has `this`, so it may use any member.
#[test]
fn a_lambda_with_the_object_stays() {
    let text = FORMS.replace(
        "  char* end",
        "  std::function<void()> again{[this] { step(1); }};\n  char* end",
    );
    let change = move_change(&["again"], Some("first"));
    check_refused(&text, "Forms", change, "are initialised in this order");
}

#[test]
fn members_that_have_an_alignment_keep_it() {
    let align = |name: &str| SourceChange::AlignMember {
        member: name.to_owned(),
        alignment: WrittenAlignment::Bytes(64),
        reason: None,
    };
    check_refused(FORMS, "Forms", align("text"), "has an alignment already");
    let new = check(FORMS, "Forms", &["text"], Some("first"));
    assert!(new.contains("1 : 2;\n  alignas(16) char text[8]"), "{new}");
    for member in ["handler", "grid", "flag", "last"] {
        let new = edit_struct("unit.cc", FORMS, "Forms", None, &[align(member)]);
        let new = new.unwrap_or_else(|refusal| panic!("{refusal}"));
        let (found, _) = compiled(&new, "Forms", |_, aggregate| offsets(aggregate));
        let first = found.iter().find(|(name, _)| name == member);
        assert_eq!(first.expect("the member").1 % 512, 0, "{member}");
    }
}

const BITS: &str = "\
class Bits {
 public:
  Bits(int a, int b) : low(a & 1), high(b & 1), number(a), sum(b) {}
  long read() const { return sum + low + high + part; }

 private:
  char head = 0;
  unsigned low : 3;
  unsigned high : 4;
  union {
    long number;
    char bytes[8];
  };
  short part = 1;
  long sum;
};
Bits bits(1, 2);
";

#[test]
fn runs_of_bit_fields_and_anonymous_unions_move_whole() {
    let new = check(BITS, "Bits", &["low", "high"], Some("part"));
    assert!(
        new.contains(": number(a), low(a & 1), high(b & 1), sum(b)"),
        "{new}"
    );
    let new = check(BITS, "Bits", &["number", "bytes"], None);
    assert!(new.contains(": number(a), low(a & 1)"), "{new}");
    check(BITS, "Bits", &["head"], Some("number"));
    check_refused(
        BITS,
        "Bits",
        move_change(&["low"], Some("part")),
        "run of bitfields",
    );
    check_refused(
        BITS,
        "Bits",
        move_change(&["sum"], Some("low")),
        "run of bitfields",
    );
}

/// Bases of all kinds. In the padding of `Made` and `Dynamic`, members of a derived class begin; in that
/// of `Plain` they do not.
const BASES: &str = "\
struct Empty {};
struct Plain { long a; char b; };
class Made {
 public:
  Made() : a(1), b(2), c(3) {}
  int sum() const { return b + c; }
  long a;
  char b;

 private:
  char c;
};
struct Dynamic {
  virtual ~Dynamic() = default;
  virtual int step() { return a; }
  int a = 0;
};
template <class T, int N>
struct Table {
  T rows[N] = {};
  char used = 0;
};
struct OnEmpty : Empty {
  char first = 0;
  long second = 0;
  int third = 0;
};
struct OnPlain : public Plain {
  char first = 0;
  long second = 0;
  int third = 0;
};
class OnMade final : protected Made {
 public:
  OnMade() : Made(), first(0), second(1), third(2) {}
  char first;
  long second;
  int third;
};
struct OnDynamic : Empty, Dynamic {
  int step() override { return 2; }
  char first = 0;
  long second = 0;
  int third = 0;
};
struct OnTable final : private Table<long, 3>, Made {
  char first = 0;
  long second = 0;
  int third = 0;
  virtual void run() {}
};
OnEmpty on_empty;
OnPlain on_plain;
OnMade on_made;
OnDynamic on_dynamic;
OnTable on_table;
";

#[test]
fn members_behind_bases_move() {
    for class in ["OnEmpty", "OnPlain", "OnMade", "OnDynamic", "OnTable"] {
        check(BASES, class, &["second"], Some("third"));
        check(BASES, class, &["third"], None);
    }
    let new = check(BASES, "OnMade", &["second"], Some("third"));
    assert!(
        new.contains(": Made(), first(0), third(2), second(1) {}"),
        "{new}"
    );
    // A change of a base moves the members of the classes behind it.
    check(BASES, "Made", &["c"], None);
    check(BASES, "Table<long int, 3>", &["used"], None);
}

const HEADER: &str = "\
namespace net {
inline namespace v1 {
class Pool {
 public:
  Pool();
  explicit Pool(long limit, int fd = 0);
  struct Slot {
    Slot(int a);
    int a;
    int b;
  };

 private:
  long in_use;
  long limit;
  int fd;
  int copy = 0;
};
}
}
";
const UNIT: &str = "\
#include \"pool.h\"
namespace net {
Pool::Pool() : Pool(8) {}
Pool::Pool(long limit, int fd)
    : in_use(0),  // none
      limit(limit),
      fd(fd)  // given
{
  (void)in_use;
}
Pool::Slot::Slot(int a) : a(a), b(2) {}
}
namespace other {
struct Pool { Pool(long a, int b); long in_use; long limit; };
Pool::Pool(long a, int b) : in_use(a), limit(b) {}
}
";

fn in_tree(unit: &str, class: &str, change: SourceChange) -> Result<(String, String), String> {
    let others = [SourceText {
        file: "pool.cc".to_owned(),
        text: unit.to_owned(),
    }];
    let edited = edit_struct_in_tree(
        StructSource::new("pool.h", HEADER, class, None),
        &[change],
        &others,
    );
    let edited = edited.map_err(|refusal| refusal.to_string())?;
    let unit = { edited.others.first() }.map_or(unit.to_owned(), |other| other.text.clone());
    Ok((edited.definition, unit))
}

#[test]
fn lists_in_other_files_follow() {
    let unit = UNIT.replace("namespace net {", "namespace net {\ninline namespace v1 {");
    let unit = unit.replace("}\nnamespace other", "}\n}\nnamespace other");
    let change = move_change(&["in_use"], Some("fd"));
    let (header, new) = in_tree(&unit, "Pool", change).unwrap_or_else(|said| panic!("{said}"));
    let expect = unit.replace(
        "    : in_use(0),  // none\n      limit(limit),\n      fd(fd)  // given\n",
        "    : limit(limit),\n      fd(fd),  // given\n      in_use(0)  // none\n",
    );
    assert_eq!(new, expect);
    let whole = new.replace("#include \"pool.h\"\n", &header);
    compile_both(&whole);
    let change = move_change(&["a"], Some("b"));
    let (_, new) = in_tree(&unit, "Slot", change).unwrap_or_else(|said| panic!("{said}"));
    assert!(new.contains("Slot(int a) : b(2), a(a) {}"), "{new}");
}

fn compile_both(text: &str) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let source = folder.path().join("unit.cc");
    std::fs::write(&source, text).expect("the source");
    compile("g++", &[], &source, text);
    compile("clang++", &["-Wno-unused-private-field"], &source, text);
}

#[test]
fn lists_that_cannot_follow_are_refused() {
    // An inline namespace is not written in the file, and no directive leads to it.
    let said = in_tree(UNIT, "Pool", move_change(&["in_use"], Some("fd"))).unwrap_err();
    assert!(
        said.starts_with("pool.h:5: the definition of this constructor"),
        "{said}"
    );
    let unit = format!("using namespace std;\n{UNIT}").replace("fd(fd)", "fd(in_use ? fd : 0)");
    let said = in_tree(&unit, "Pool", move_change(&["in_use"], Some("fd"))).unwrap_err();
    assert!(
        said.starts_with("pool.cc:8: in_use and fd are initialised"),
        "{said}"
    );
    let unit = format!("using namespace std;\n{UNIT}");
    let unit = unit.replace(
        "      limit(limit),\n",
        "#ifdef LIMIT\n      limit(limit),\n#endif\n",
    );
    let said = in_tree(&unit, "Pool", move_change(&["in_use"], Some("fd"))).unwrap_err();
    assert!(
        said.starts_with("pool.cc:7: a directive stands in"),
        "{said}"
    );
}
