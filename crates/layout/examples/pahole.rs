//! Compares our text with pahole's, type by type, over a whole file:
//!
//! ```sh
//! pahole -j1 -F dwarf VMLINUX > expected.txt
//! cargo run --release -p relayout-layout --example pahole -- VMLINUX expected.txt
//! ```
//! `--btf` reads BTF (against `pahole -F btf`).
//! With `--dump` the types that differ go to `ours.txt` and `theirs.txt` in the current folder.

use std::collections::HashMap;
use std::error::Error;
use std::fs::{self, File};

use relayout_layout::btf::Btf;
use relayout_layout::dwarf::{DwarfFile, DwarfTypes, SectionStore};
use relayout_layout::pahole::{Options, render};
use relayout_layout::{Type, TypeId, Types};

/// Definitions of one name that are tried before it counts as different.
const CANDIDATES_MAX: usize = 200;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [path, expected, flags @ ..] = args.as_slice() else {
        return Err("usage: pahole FILE EXPECTED [--btf] [--dump]".into());
    };
    let flag = |name: &str| flags.iter().any(|flag| flag == name);
    let input = File::open(path)?;
    // SAFETY: the file is not changed while this example runs.
    let bytes = unsafe { memmap2::Mmap::map(&input)? };
    let expected = fs::read_to_string(expected)?;
    let options = Options {
        alignments_known: !flag("--btf"),
        ..Options::default()
    };
    let mut tally = Tally::default();
    if flag("--btf") {
        let btf = Btf::parse(&bytes)?;
        for (head, theirs) in blocks(&expected) {
            let Some((keyword, name)) = head.split_once(' ') else {
                continue;
            };
            let ids = btf.find_types(name).iter();
            let ids = ids.filter(|id| is_tagged(btf.types(), **id, keyword, name));
            let texts: Vec<String> = ids
                .filter_map(|id| render(btf.types(), *id, &options))
                .take(CANDIDATES_MAX)
                .collect();
            tally.add(theirs, &texts);
        }
        return tally.print(flag("--dump"));
    }
    let store = SectionStore::default();
    let file = DwarfFile::parse_in(&bytes, &store)?;
    let mut types = DwarfTypes::new(&file);
    for (head, theirs) in blocks(&expected) {
        let Some((keyword, name)) = head.split_once(' ') else {
            continue;
        };
        let mut texts = Vec::new();
        for &die in file.find_types(name) {
            let id = types.load(die)?;
            if is_tagged(types.types(), id, keyword, name) {
                texts.extend(render(types.types(), id, &options));
            }
            if texts.last().is_some_and(|ours| ours == theirs) || texts.len() > CANDIDATES_MAX {
                break;
            }
        }
        tally.add(theirs, &texts);
    }
    tally.print(flag("--dump"))
}

/// The type is itself `keyword name`, not a typedef of that name.
fn is_tagged(types: &Types, id: TypeId, keyword: &str, name: &str) -> bool {
    matches!(types.get(id), Type::Aggregate(aggregate)
        if aggregate.kind.to_string() == keyword && aggregate.name.as_deref() == Some(name))
}

#[derive(Default)]
struct Tally {
    first: usize,
    other: usize,
    missing: usize,
    differ: Vec<(String, String)>,
}

impl Tally {
    fn add(&mut self, theirs: &str, ours: &[String]) {
        match ours.iter().position(|ours| ours == theirs) {
            Some(0) => self.first += 1,
            Some(_) => self.other += 1,
            None => match ours.first() {
                Some(ours) => self.differ.push((ours.clone(), theirs.to_owned())),
                None => self.missing += 1,
            },
        }
    }

    fn print(&self, dump: bool) -> Result<(), Box<dyn Error>> {
        let total = self.first + self.other + self.missing + self.differ.len();
        println!("types                          {total:6}");
        println!("same as the first of its name  {:6}", self.first);
        println!("same as a later one            {:6}", self.other);
        println!("not found                      {:6}", self.missing);
        println!("different                      {:6}", self.differ.len());
        let share = (self.first + self.other) as f64 / total.max(1) as f64 * 100.0;
        println!("identical                      {share:6.2} %");
        let mut kinds: HashMap<String, (usize, String)> = HashMap::new();
        for (ours, theirs) in &self.differ {
            let pair = ours
                .lines()
                .zip(theirs.lines())
                .find(|(ours, theirs)| ours != theirs);
            let (ours_line, theirs_line) = pair.unwrap_or_default();
            let kind = format!("{} | {}", shape(ours_line), shape(theirs_line));
            let head = theirs.lines().next().unwrap_or_default().to_owned();
            kinds.entry(kind).or_insert((0, head)).0 += 1;
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
        for (kind, (count, head)) in kinds.iter().take(40) {
            println!("{count:5}  {kind}   e.g. {head}");
        }
        if dump {
            let (ours, theirs): (Vec<&str>, Vec<&str>) = self
                .differ
                .iter()
                .map(|(ours, theirs)| (ours.as_str(), theirs.as_str()))
                .unzip();
            fs::write("ours.txt", ours.concat())?;
            fs::write("theirs.txt", theirs.concat())?;
        }
        Ok(())
    }
}

/// A line with its numbers and identifiers blanked, so that equal differences fall together.
fn shape(line: &str) -> String {
    let mut out = String::new();
    for c in line.trim().chars() {
        let c = if c.is_ascii_digit() { 'N' } else { c };
        if !(c == 'N' && out.ends_with('N') || c == ' ' && out.ends_with(' ')) {
            out.push(c);
        }
    }
    out
}

/// Each type's first line without the brace, and its whole text.
fn blocks(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let close = rest.find("\n}")? + 1;
        let end = close
            + rest[close..]
                .find('\n')
                .map_or(rest.len() - close, |line| line + 1);
        let (block, after) = rest.split_at(end);
        rest = after;
        Some((
            block.lines().next()?.strip_suffix(" {").unwrap_or_default(),
            block,
        ))
    })
}
