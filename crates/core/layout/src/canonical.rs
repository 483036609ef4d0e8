//! Common spelling of types that compilers and people spell differently.

/// Canonical spelling of a type: `long unsigned int` becomes `unsigned long`, `_Bool` becomes `bool`,
/// and `> >` becomes `>>`, also inside template arguments.
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
    let mut consts = PendingConsts::default();
    let mut rest = name;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        if end > 0 {
            let (word, after) = rest.split_at(end);
            if word == "const" && !integer.has_words() && consts.defer_const(&out) {
                // The word goes behind the type.
            } else if !integer.absorb_word(word) {
                integer.flush(&mut out);
                push_word(&mut out, if word == "_Bool" { "bool" } else { word });
            }
            rest = after;
        } else {
            if !first.is_whitespace() {
                integer.flush(&mut out);
                consts.flush_before(first, &mut out);
                out.push(first);
            }
            rest = &rest[first.len_utf8()..];
        }
    }
    integer.flush(&mut out);
    consts.flush(&mut out);
    out
}

/// Words `const` in front of a type, to be written behind it: `const char *` becomes `char const
/// *`.
#[derive(Default)]
struct PendingConsts {
    /// Number of open template argument lists.
    depth: usize,
    /// Depths at which a `const` waits.
    waiting_depths: Vec<usize>,
}

impl PendingConsts {
    /// Returns true if a `const` after `out` begins a type, and keeps it for later.
    fn defer_const(&mut self, out: &str) -> bool {
        let begins = out.is_empty() || out.ends_with(['<', ',', '(']);
        if begins {
            self.waiting_depths.push(self.depth);
        }
        begins
    }

    /// Writes the waiting `const` if `next` ends a type.
    fn flush_before(&mut self, next: char, out: &mut String) {
        let ends = matches!(next, ',' | '>' | '*' | '&' | '(' | ')' | '[');
        if ends && self.waiting_depths.last() == Some(&self.depth) {
            self.waiting_depths.pop();
            push_word(out, "const");
        }
        match next {
            '<' => self.depth += 1,
            '>' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    fn flush(&mut self, out: &mut String) {
        for _ in self.waiting_depths.drain(..) {
            push_word(out, "const");
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
    }
}
