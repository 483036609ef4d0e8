//! The `map` of a recorded program: a text file to which the collector appends lines.
//!
//! ```text
//! module START END BIAS PATH      a file was mapped; BIAS was added to its link-time addresses
//! thread CONTEXT TID NAME         a thread, or its new name
//! stack CONTEXT START BYTES       a thread's stack
//! tls CONTEXT START BYTES BIAS    a thread's copy of the TLS segment of the module with that bias
//! name ID TEXT                    a type's name, which allocations refer to by ID
//! exec PATH                       the program replaced itself by another, which is not recorded
//! ```
//!
//! START, END, BYTES and BIAS are hexadecimal; CONTEXT, TID and ID decimal. PATH, NAME and TEXT go
//! to the end of the line and may be empty. Later lines win over earlier ones about the same
//! memory. A last line without its end was cut off and does not count.

use std::collections::BTreeMap;

use crate::model::{LoadedModule, ProgramThread};

/// Most modules that are kept. Programs have tens, seldom hundreds.
const MODULES_MAX: usize = 4096;

/// Modules, threads, stacks and named objects of a program, with their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramMap {
    /// Mapped files, by start; none overlap. The build ids are empty.
    pub modules: Vec<LoadedModule>,
    /// The file that the collector named first: the program itself.
    pub program: Option<LoadedModule>,
    /// Threads, by context and then by when they came.
    pub threads: Vec<ProgramThread>,
    /// Stacks, in the order of the lines.
    pub stacks: Vec<ThreadArea>,
    /// Thread-local storage, in the order of the lines.
    pub tls: Vec<TlsBlock>,
    /// Names of types, by number.
    pub names: BTreeMap<u32, String>,
    /// Program that replaced the recorded one by exec at its end.
    pub exec: Option<String>,
    /// Lines that are none of the above, and modules that gave way to others at their place.
    pub lines_unused: u64,
}

/// A stretch of memory of a context.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadArea {
    /// The context.
    pub context: u16,
    /// First byte.
    pub start: u64,
    /// Bytes.
    pub bytes: u64,
}

/// A thread's copy of a module's TLS segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsBlock {
    /// Its memory and its thread.
    pub area: ThreadArea,
    /// Bias of the module.
    pub bias: u64,
}

impl ProgramMap {
    /// Reads what the collector wrote, as far as it goes.
    pub fn parse(text: &[u8]) -> Self {
        let mut map = Self::default();
        let mut modules = BTreeMap::new();
        let whole = text
            .iter()
            .rposition(|&b| b == b'\n')
            .map_or(0, |at| at + 1);
        for line in text[..whole]
            .split(|&b| b == b'\n')
            .filter(|l| !l.is_empty())
        {
            let line = String::from_utf8_lossy(line);
            if map.parse_line(&line, &mut modules).is_none() {
                map.lines_unused += 1;
            }
        }
        map.modules = modules.into_values().collect();
        map.keep_last_names();
        map
    }

    fn parse_line(&mut self, line: &str, modules: &mut BTreeMap<u64, LoadedModule>) -> Option<()> {
        let mut fields = MapFields(line);
        match fields.next_field()? {
            "module" => {
                let (start, end, bias) = (fields.hex()?, fields.hex()?, fields.hex()?);
                let module = LoadedModule {
                    path: fields.0.to_owned(),
                    build_id: String::new(),
                    start,
                    end,
                    bias,
                };
                if start >= end || modules.len() == MODULES_MAX {
                    return None;
                }
                self.program.get_or_insert_with(|| module.clone());
                self.add_module(modules, module);
            }
            "thread" => {
                let thread = ProgramThread {
                    context: fields.decimal()?,
                    tid: fields.decimal()?,
                    name: fields.0.to_owned(),
                };
                self.threads.push(thread);
            }
            "stack" => self.stacks.push(fields.area()?),
            "tls" => {
                let area = fields.area()?;
                let bias = fields.hex()?;
                self.tls.push(TlsBlock { area, bias });
            }
            "name" => {
                self.names.insert(fields.decimal()?, fields.0.to_owned());
            }
            "exec" => self.exec = Some(fields.0.to_owned()),
            _ => return None,
        }
        Some(())
    }

    /// A context has one thread at a time, so lines about one thread are together once sorted.
    fn keep_last_names(&mut self) {
        self.threads.sort_by_key(|thread| thread.context);
        self.threads.dedup_by(|later, kept| {
            let same = (later.context, later.tid) == (kept.context, kept.tid);
            if same {
                kept.name = std::mem::take(&mut later.name);
            }
            same
        });
    }

    /// Of modules that overlap, the one that came last is there. All are listed again whenever one
    /// was loaded.
    fn add_module(&mut self, kept: &mut BTreeMap<u64, LoadedModule>, module: LoadedModule) {
        while let Some(start) = overlapping_start(kept, &module) {
            let gone = kept.remove(&start);
            self.lines_unused += u64::from(gone.as_ref() != Some(&module));
        }
        kept.insert(module.start, module);
    }
}

/// Start of a module in `kept` that shares memory with `module`.
fn overlapping_start(kept: &BTreeMap<u64, LoadedModule>, module: &LoadedModule) -> Option<u64> {
    let (&start, before) = kept.range(..module.end).next_back()?;
    (before.end > module.start).then_some(start)
}

/// Rest of a line.
struct MapFields<'l>(&'l str);

impl<'l> MapFields<'l> {
    fn next_field(&mut self) -> Option<&'l str> {
        let (field, rest) = self.0.split_once(' ').unwrap_or((self.0, ""));
        self.0 = rest;
        (!field.is_empty()).then_some(field)
    }

    fn hex(&mut self) -> Option<u64> {
        let field = self.next_field()?;
        u64::from_str_radix(field.strip_prefix("0x").unwrap_or(field), 16).ok()
    }

    fn decimal<N: std::str::FromStr>(&mut self) -> Option<N> {
        self.next_field()?.parse().ok()
    }

    fn area(&mut self) -> Option<ThreadArea> {
        let area = ThreadArea {
            context: self.decimal()?,
            start: self.hex()?,
            bytes: self.hex()?,
        };
        area.start.checked_add(area.bytes).map(|_| area)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_whole() {
        let map = ProgramMap::parse(
            b"module 555555554000 555555560000 555555554000 /a b/prog\n\
              module 7ffff7d00000 7ffff7e00000 7ffff7d00000 /lib/libc.so.6\n\
              thread 0 100 prog\nthread 1 101 prog\nthread 1 101 worker 1\n\
              stack 1 7fff00000000 800000\n\
              tls 1 7ffff7c00040 1f 555555554000\n\
              name 1 struct pool\nnonsense\n\nname 2 cut o",
        );
        let paths: Vec<_> = map.modules.iter().map(|m| &*m.path).collect();
        assert_eq!(paths, ["/a b/prog", "/lib/libc.so.6"]);
        assert_eq!(map.program.as_ref(), Some(&map.modules[0]));
        let threads: Vec<_> = map
            .threads
            .iter()
            .map(|t| (t.context, t.tid, &*t.name))
            .collect();
        assert_eq!(threads, [(0, 100, "prog"), (1, 101, "worker 1")]);
        assert_eq!(map.stacks[0].bytes, 0x80_0000);
        assert_eq!(map.tls[0].bias, 0x5555_5555_4000);
        assert_eq!(
            map.names.into_iter().collect::<Vec<_>>(),
            [(1, "struct pool".to_owned())]
        );
        assert_eq!(map.lines_unused, 1);
    }

    #[test]
    fn a_module_that_is_loaded_where_another_was_replaces_it() {
        let check = |text: &str, expect: &[&str], unused| {
            let map = ProgramMap::parse(text.as_bytes());
            let paths: Vec<_> = map.modules.iter().map(|m| &*m.path).collect();
            assert_eq!((&paths[..], map.lines_unused), (expect, unused), "{text}");
        };
        check("module 10 20 0 a\nmodule 10 20 0 a\n", &["a"], 0);
        check("module 10 20 0 a\nmodule 18 28 0 b\n", &["b"], 1);
        check("module 10 20 0 a\nmodule 20 28 0 b\n", &["a", "b"], 0);
        check(
            "module 10 18 0 a\nmodule 20 28 0 b\nmodule 0 30 0 c\n",
            &["c"],
            2,
        );
        check(
            "module 20 20 0 a\nmodule 20 10 0 a\nmodule x 10 0 a\nmodule 1\n",
            &[],
            4,
        );
    }
}
