//! C expressions about the members of a type.

/// Output form of the emitted text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EmitForm {
    /// C11 or C++11 with the standard headers only.
    StaticAssert,
    /// Source file of the Linux kernel.
    Kernel,
}

/// Type name and parameters for C expressions about its members.
#[derive(Clone, Copy, Debug)]
pub struct CDialect<'t> {
    /// Output form.
    pub form: EmitForm,
    /// C name of the type: `struct mm_struct`, `spinlock_t`, `struct net::Socket`.
    pub type_name: &'t str,
    /// Cache line size in bytes.
    pub line_bytes: u64,
    /// Offset of the object's start within its cache line, in bytes.
    pub phase: u64,
}

/// Member in C syntax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CMember {
    /// Path of the member: `mmap_lock.owner`, `lists[2].next`.
    pub path: String,
    /// Kind of the member's size.
    pub extent: MemberExtent,
    /// True for a scalar that never straddles cache lines, on any target: its first and last byte
    /// share a line.
    pub is_aligned_scalar: bool,
}

/// Kinds of a member's size in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberExtent {
    /// `sizeof` gives the size.
    Sized,
    /// The member takes no bytes: an array without elements, at the end of the type or as a mark.
    Empty,
    /// C++ reference. `sizeof` gives the size of the referenced type.
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

    /// Expression for the cache line of the member's first byte.
    pub fn first_line(&self, member: &CMember) -> String {
        self.first_unit(member, &self.line_bytes_text())
    }

    /// Expression for the cache line of the member's last byte. An empty member has only its
    /// position.
    pub fn last_line(&self, member: &CMember) -> String {
        self.last_unit(member, &self.line_bytes_text())
    }

    /// Expression for the pair of cache lines of the member's first byte.
    pub fn first_pair(&self, member: &CMember) -> String {
        self.first_unit(member, &self.pair_bytes_text())
    }

    /// Expression for the pair of cache lines of the member's last byte.
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

    /// Expression for the size of a cache line in bytes.
    pub fn line_bytes_text(&self) -> String {
        match self.form {
            EmitForm::StaticAssert => self.line_bytes.to_string(),
            EmitForm::Kernel => "SMP_CACHE_BYTES".to_owned(),
        }
    }

    /// Expression for the size of a pair of cache lines in bytes.
    pub fn pair_bytes_text(&self) -> String {
        match self.form {
            EmitForm::StaticAssert => self.line_bytes.saturating_mul(2).to_string(),
            EmitForm::Kernel => "(2 * SMP_CACHE_BYTES)".to_owned(),
        }
    }
}
