//! Expressions of C about a type's members.

/// What the text is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EmitForm {
    /// C11 or C++11 with nothing but the standard headers.
    StaticAssert,
    /// A source file of the Linux kernel.
    Kernel,
}

/// A type as C names it, and how to ask about its members.
#[derive(Clone, Copy, Debug)]
pub struct CDialect<'t> {
    /// What the text is for.
    pub form: EmitForm,
    /// `struct mm_struct`, `spinlock_t`, `struct net::Socket`.
    pub type_name: &'t str,
    /// Bytes of a cache line.
    pub line_bytes: u64,
    /// How far into a line an object begins, in bytes.
    pub phase: u64,
}

/// A member as C names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CMember {
    /// `mmap_lock.owner`, `lists[2].next`.
    pub path: String,
    /// What of it has a size.
    pub extent: MemberExtent,
    /// A scalar that cannot straddle lines, for any target: its first byte's line is its last's.
    pub is_aligned_scalar: bool,
}

/// How C says how large a member is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberExtent {
    /// By `sizeof`.
    Sized,
    /// It takes no bytes: an array without elements, at the end of the type or as a mark.
    Empty,
    /// A reference of C++, of which `sizeof` gives the size of what it refers to.
    Reference,
}

impl CDialect<'_> {
    pub fn offset(&self, member: &CMember) -> String {
        format!("offsetof({}, {})", self.type_name, member.path)
    }

    pub fn size(&self, member: &CMember) -> String {
        let (type_name, path) = (self.type_name, &member.path);
        match (member.extent, self.form) {
            (MemberExtent::Empty, _) => "0".to_owned(),
            (MemberExtent::Reference, _) => "sizeof(void *)".to_owned(),
            (MemberExtent::Sized, EmitForm::Kernel) => format!("sizeof_field({type_name}, {path})"),
            (MemberExtent::Sized, EmitForm::StaticAssert) => {
                format!("sizeof((({type_name} *)0)->{path})")
            }
        }
    }

    /// The line of the member's first byte.
    pub fn first_line(&self, member: &CMember) -> String {
        self.first_unit(member, &self.line_bytes_text())
    }

    /// The line of the member's last byte; of its place, if it has none.
    pub fn last_line(&self, member: &CMember) -> String {
        self.last_unit(member, &self.line_bytes_text())
    }

    /// The pair of lines of the member's first byte.
    pub fn first_pair(&self, member: &CMember) -> String {
        self.first_unit(member, &self.pair_bytes_text())
    }

    /// The pair of lines of the member's last byte.
    pub fn last_pair(&self, member: &CMember) -> String {
        self.last_unit(member, &self.pair_bytes_text())
    }

    fn first_unit(&self, member: &CMember, unit: &str) -> String {
        let offset = self.offset(member);
        match self.phase {
            0 => format!("{offset} / {unit}"),
            phase => format!("({offset} + {phase}) / {unit}"),
        }
    }

    fn last_unit(&self, member: &CMember, unit: &str) -> String {
        if member.extent == MemberExtent::Empty {
            return self.first_unit(member, unit);
        }
        let end = match (member.extent, self.form) {
            (MemberExtent::Sized, EmitForm::Kernel) => {
                format!("offsetofend({}, {})", self.type_name, member.path)
            }
            _ => format!("{} + {}", self.offset(member), self.size(member)),
        };
        match self.phase {
            0 => format!("({end} - 1) / {unit}"),
            phase => format!("({end} + {phase} - 1) / {unit}"),
        }
    }

    pub fn size_of_type(&self) -> String {
        format!("sizeof({})", self.type_name)
    }

    pub fn align_of_type(&self) -> String {
        match self.form {
            EmitForm::StaticAssert => format!("alignof({})", self.type_name),
            EmitForm::Kernel => format!("__alignof__({})", self.type_name),
        }
    }

    /// Bytes of a line.
    pub fn line_bytes_text(&self) -> String {
        match self.form {
            EmitForm::StaticAssert => self.line_bytes.to_string(),
            EmitForm::Kernel => "SMP_CACHE_BYTES".to_owned(),
        }
    }

    /// Bytes of a pair of lines.
    pub fn pair_bytes_text(&self) -> String {
        match self.form {
            EmitForm::StaticAssert => self.line_bytes.saturating_mul(2).to_string(),
            EmitForm::Kernel => "(2 * SMP_CACHE_BYTES)".to_owned(),
        }
    }
}
