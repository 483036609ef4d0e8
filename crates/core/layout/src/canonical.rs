//! Common spelling of types that compilers and people spell differently.

use crate::literals;

/// Spelling of a namespace without a name, in scopes and in canonical names.
pub(crate) const UNNAMED_SCOPE: &str = "(anonymous)";

/// Spellings of a namespace without a name by clang and gdb, and by gcc.
const UNNAMED_SPELLINGS: [&str; 4] = [
    UNNAMED_SCOPE,
    "(anonymous namespace)",
    "{anonymous}",
    "<unnamed>",
];

/// Canonical spelling of a type: `long unsigned int` becomes `unsigned long`, `_Bool` becomes
/// `bool`, and `> >` becomes `>>`, also inside template arguments. Values among these are plain
/// numbers: `4` for `4UL`, `97` for `'a'` and `(char)97`. Namespaces without a name are
/// `(anonymous)`.
///
/// ```
/// use relayout_layout::canonical_type;
///
/// let names = ["Stats<long unsigned int>", "Stats<unsigned long int>", "Stats< unsigned long >"];
/// assert!(names.iter().all(|name| canonical_type(name) == "Stats<unsigned long>"));
/// ```
pub fn canonical_type(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut integer = IntegerWords::default();
    let mut pending = PendingQualifiers::default();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        if let Some((token, after)) = read_special_token(rest, &out) {
            integer.flush(&mut out);
            out.push_str(&token);
            rest = after;
            continue;
        }
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if end > 0 {
            let (word, after) = rest.split_at(end);
            let qualifier = TypeQualifier::from_word(word).filter(|_| !integer.has_words());
            if qualifier.is_some_and(|qualifier| pending.defer(qualifier, &out)) {
                // The word goes behind the type.
            } else if !integer.absorb_word(word) {
                integer.flush(&mut out);
                push_word(&mut out, if word == "_Bool" { "bool" } else { word });
            }
            rest = after;
        } else {
            if !first.is_whitespace() {
                integer.flush(&mut out);
                pending.flush_before(first, &mut out);
                out.push(first);
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    integer.flush(&mut out);
    pending.flush(&mut out);
    out
}

/// Reads a namespace without a name, or a value among template arguments, in front of `rest`, which
/// follows `out`.
fn read_special_token<'n>(rest: &'n str, out: &str) -> Option<(String, &'n str)> {
    if !rest.starts_with(['(', '{', '<', '-', '\'', 'n', 'u', 'U', 'L'])
        && !rest.starts_with(|c: char| c.is_ascii_digit())
    {
        return None;
    }
    if let Some(after) = strip_unnamed(rest) {
        return Some((UNNAMED_SCOPE.to_owned(), after));
    }
    let begins_argument = out.ends_with(['<', ',']);
    if !begins_argument {
        return None;
    }
    literals::read_value(rest)
}

/// Strips a namespace without a name from the front.
fn strip_unnamed(text: &str) -> Option<&str> {
    let mut spellings = UNNAMED_SPELLINGS.iter();
    spellings.find_map(|spelling| text.strip_prefix(spelling))
}

/// Returns true if `name` has a namespace without a name, in any spelling.
pub(crate) fn has_unnamed(name: &str) -> bool {
    let mut spellings = UNNAMED_SPELLINGS.iter();
    spellings.any(|spelling| name.contains(spelling))
}

/// Returns `canonical`, a canonical name, without the namespaces that have no name: their members
/// are members of the namespace around them.
pub(crate) fn without_unnamed(canonical: &str) -> String {
    canonical.replace("(anonymous)::", "")
}

/// TypeQualifier of a type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TypeQualifier {
    Const,
    Volatile,
}

impl TypeQualifier {
    fn from_word(word: &str) -> Option<Self> {
        match word {
            "const" => Some(Self::Const),
            "volatile" => Some(Self::Volatile),
            _ => None,
        }
    }
}

/// Qualifiers in front of a type, to be written behind it: `const char *` becomes `char const *`.
#[derive(Default)]
struct PendingQualifiers {
    /// Number of open template argument lists.
    depth: usize,
    /// Types whose qualifiers wait.
    waiting: Vec<WaitingQualifiers>,
}

/// Qualifiers of one type.
struct WaitingQualifiers {
    /// Number of open template argument lists around the type.
    depth: usize,
    /// Bytes in front of the type.
    start: usize,
    is_const: bool,
    is_volatile: bool,
}

impl PendingQualifiers {
    /// Returns true if a qualifier after `out` begins a type, and keeps it for later.
    fn defer(&mut self, qualifier: TypeQualifier, out: &str) -> bool {
        let begins = out.is_empty() || out.ends_with(['<', ',', '(']);
        if !begins {
            return false;
        }
        let (depth, start) = (self.depth, out.len());
        let same_type = |waiting: &&mut WaitingQualifiers| waiting.start == start;
        let mut added = WaitingQualifiers {
            depth,
            start,
            is_const: false,
            is_volatile: false,
        };
        let (waiting, is_new) = match self.waiting.last_mut().filter(same_type) {
            Some(waiting) => (waiting, false),
            None => (&mut added, true),
        };
        match qualifier {
            TypeQualifier::Const => waiting.is_const = true,
            TypeQualifier::Volatile => waiting.is_volatile = true,
        }
        if is_new {
            self.waiting.push(added);
        }
        true
    }

    /// Writes the waiting qualifiers if `next` ends a type.
    fn flush_before(&mut self, next: char, out: &mut String) {
        let ends = matches!(next, ',' | '>' | '*' | '&' | '(' | ')' | '[');
        let depth = self.depth;
        if ends && let Some(waiting) = self.waiting.pop_if(|waiting| waiting.depth == depth) {
            waiting.write(out);
        }
        match next {
            '<' => self.depth += 1,
            '>' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn flush(&mut self, out: &mut String) {
        let waiting = self.waiting.drain(..);
        waiting.for_each(|waiting| waiting.write(out));
    }
}

impl WaitingQualifiers {
    fn write(&self, out: &mut String) {
        if self.is_const {
            push_word(out, "const");
        }
        if self.is_volatile {
            push_word(out, "volatile");
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Appends a word, with a space behind another word.
fn push_word(out: &mut String, word: &str) {
    if out.ends_with(is_word) {
        out.push(' ');
    }
    out.push_str(word);
}

/// Words of one integer type, in any order.
#[derive(Default)]
pub(crate) struct IntegerWords {
    unsigned: bool,
    signed: bool,
    short: bool,
    long_count: u32,
    char: bool,
    int: bool,
    double: bool,
}

impl IntegerWords {
    /// Returns true if there are words of an integer.
    fn has_words(&self) -> bool {
        self.unsigned
            || self.signed
            || self.short
            || self.long_count > 0
            || self.char
            || self.int
            || self.double
    }

    /// Takes a word of an integer; returns false for other words.
    pub(crate) fn absorb_word(&mut self, word: &str) -> bool {
        match word {
            "unsigned" => self.unsigned = true,
            "signed" => self.signed = true,
            "short" => self.short = true,
            "long" => self.long_count = (self.long_count + 1).min(2),
            "char" => self.char = true,
            "int" => self.int = true,
            "double" if self.long_count > 0 => self.double = true,
            _ => return false,
        }
        true
    }

    /// Appends the integer that the words name, if there are any.
    pub(crate) fn flush(&mut self, out: &mut String) {
        let this = std::mem::take(self);
        if !this.has_words() {
            return;
        }
        if this.unsigned {
            push_word(out, "unsigned");
        }
        // Plain `char` is a type of its own; `signed int` is `int`.
        if this.signed && this.char {
            push_word(out, "signed");
        }
        for _ in 0..this.long_count {
            push_word(out, "long");
        }
        if this.short {
            push_word(out, "short");
        }
        if this.char {
            push_word(out, "char");
        } else if this.double {
            push_word(out, "double");
        } else if this.long_count == 0 && !this.short {
            push_word(out, "int");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::canonical_type;

    #[track_caller]
    fn check(names: &[&str], expect: &str) {
        for name in names {
            assert_eq!(canonical_type(name), expect, "{name}");
        }
    }

    #[test]
    fn integers_in_any_order() {
        check(
            &["long unsigned int", "unsigned long", "unsigned long int"],
            "unsigned long",
        );
        check(&["short unsigned int", "unsigned short"], "unsigned short");
        check(&["long long int", "long long"], "long long");
        check(&["unsigned", "unsigned int"], "unsigned int");
        check(&["signed int", "int"], "int");
        check(&["signed char"], "signed char");
        check(&["char"], "char");
        check(&["long double"], "long double");
        check(&["_Bool", "bool"], "bool");
    }

    #[test]
    fn inside_declarators_and_templates() {
        check(
            &["long unsigned int *[4]", "unsigned long*[4]"],
            "unsigned long*[4]",
        );
        check(
            &[
                "std::map<long unsigned int, std::pair<int, char> >",
                "std::map<unsigned long, std::pair<int, char>>",
            ],
            "std::map<unsigned long,std::pair<int,char>>",
        );
        check(&["struct page *"], "struct page*");
        check(
            &["const char *const", "char const*const"],
            "char const*const",
        );
        check(
            &[
                "pair<const unsigned long, A>",
                "pair<long unsigned int const, A>",
            ],
            "pair<unsigned long const,A>",
        );
        check(
            &["A<const B<const C>*>", "A<B<C const> const*>"],
            "A<B<C const>const*>",
        );
        check(&["const struct page *"], "struct page const*");
        check(
            &["Fn<int const volatile&>", "Fn<const volatile int &>"],
            "Fn<int const volatile&>",
        );
        check(&["Fn<int [4]>", "Fn<int[4]>"], "Fn<int[4]>");
        check(
            &[
                "Fn<int(long int, char const*)>",
                "Fn<int (long, const char *)>",
            ],
            "Fn<int(long,char const*)>",
        );
    }

    #[test]
    fn values_by_either_compiler() {
        check(
            &["Ring<long, 4>", "Ring<long int, 4UL>", "Ring<long,4ull>"],
            "Ring<long,4>",
        );
        check(&["Tag<'a'>", "Tag<(char)97>", "Tag<97>"], "Tag<97>");
        check(&["Ch<'\\n'>", "Ch<'\\012'>"], "Ch<10>");
        check(&["Ch<'\\''>", "Ch<39>"], "Ch<39>");
        check(&["Ch<','>", "Ch<44>"], "Ch<44>");
        check(&["L<-4>", "L<-4L>", "L<(short)-4>"], "L<-4>");
        check(&["SC<-1>", "SC<(signed char)'\\xff'>"], "SC<-1>");
        check(&["UC<200>", "UC<(unsigned char)'\\xc8'>"], "UC<200>");
        check(&["WC<119>", "WC<L'w'>"], "WC<119>");
        check(&["B<true>", "B<(bool)1>"], "B<true>");
        check(&["P<0>", "P<nullptr>"], "P<0>");
        check(&["P<(& g)>", "P<&g>"], "P<&g>");
        // An enumerator's number is not in its name.
        check(&["C<(Color)1>"], "C<(Color)1>");
        check(&["Two<1u, 'b', B<2l> >"], "Two<1,98,B<2>>");
    }

    #[test]
    fn namespaces_without_a_name() {
        check(
            &[
                "S<(anonymous namespace)::Q>",
                "S<{anonymous}::Q>",
                "S<(anonymous)::Q>",
            ],
            "S<(anonymous)::Q>",
        );
        assert_eq!(super::without_unnamed("S<a::(anonymous)::Q>"), "S<a::Q>");
    }

    #[test]
    fn names_that_only_look_like_values() {
        check(&["{closure#0}<&'a str>"], "{closure#0}<&'a str>");
        check(&["A<'>"], "A<'>");
        check(&["A<u8>", "A< u8 >"], "A<u8>");
        check(&["A<unsigned>"], "A<unsigned int>");
        check(&["A<(B)>", "A<(B) >"], "A<(B)>");
        check(&["HashMap<&str, (u8, u16)>"], "HashMap<&str,(u8,u16)>");
    }
}
