//! Measures the right answers of the instruction alone in slab caches whose type is certain by name
//! and size.
//!
//!     cargo run --release -p relayout-resolve --example truth -- VMLINUX PROFILE...
//!
//! Each access to a slot of such a cache is a question about the type that its instruction names,
//! and the offset in it. The answer is right if the cache's type has that type at that offset, as
//! itself or embedded (`struct inode` within `struct shmem_inode_info`). Evidence of scalars (`int
//! *`) names no member and counts as no answer. The cache, other accesses and the vote play no
//! part.
//!
//! Printed are, by cache, *places* (distinct pairs of instruction and offset in the object),
//! accesses and transfers; then the instructions with wrong answers, at most WRONG of them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::File;
use std::path::Path;

use relayout_layout::dwarf::DwarfFile;
use relayout_profile::{AccessKind, CoherenceEvent, Profile, SiteId};
use relayout_resolve::{
    DebugImages, FileId, LinkedAddress, ObjectKind, OpinionVerdict, Options, Resolution,
    ResolvedObject, SiteOpinion, SourceMaps, resolve,
};

const WRONG_SHOWN: usize = 30;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [debug, profiles @ ..] = args.as_slice() else {
        return Err("usage: truth VMLINUX PROFILE...".into());
    };
    // SAFETY: the file is not changed while this runs.
    let bytes = unsafe { memmap2::Mmap::map(&File::open(debug)?)? };
    let file = DwarfFile::parse(&bytes)?;
    let images = DebugImages::from_single_file(&file);
    let mut asked = AskedOpinions::default();
    for path in profiles {
        let profile = relayout_profile::store::read(Path::new(path))?;
        let resolution = resolve(&profile, &images, Options::default())?;
        add_opinions(&profile, &resolution, &mut asked);
    }
    print_caches(&asked);
    print_wrong(&asked, &SourceMaps::new(&images));
    Ok(())
}

/// Instruction, and the offset in an object of the cache that it accesses.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SlabAccess {
    cache: String,
    pc: u64,
    writes: bool,
    offset: u64,
}

/// Accesses and transfers.
#[derive(Clone, Copy, Debug, Default)]
struct UseCounts {
    accesses: u64,
    transfers: u64,
}

type AskedOpinions = BTreeMap<(SlabAccess, SiteOpinion), UseCounts>;

fn add_opinions(profile: &Profile, resolution: &Resolution, asked: &mut AskedOpinions) {
    let mut add = |run, addr, site: u32, access, uses: UseCounts| {
        let Some(object) = resolution.object_at(run, addr).filter(|o| is_certain(o)) else {
            return;
        };
        let ObjectKind::Slab { cache } = &object.kind else {
            return;
        };
        let writes = access != AccessKind::Read;
        let place = SlabAccess {
            cache: cache.clone(),
            pc: profile.sites[site as usize].pc,
            writes,
            offset: addr - object.base,
        };
        let opinion = resolution.opinion(object, addr, SiteId(site), writes);
        let sum = asked.entry((place, opinion)).or_default();
        sum.accesses += uses.accesses;
        sum.transfers += uses.transfers;
    };
    for row in &profile.counts {
        let accesses = row.count;
        let uses = UseCounts {
            accesses,
            transfers: 0,
        };
        add(row.run, row.addr, row.site.0, row.access, uses);
    }
    for row in &profile.conflicts {
        let transfers = row.count;
        if row.transfer != CoherenceEvent::Upgrade {
            let uses = UseCounts {
                accesses: 0,
                transfers,
            };
            add(row.run, row.addr, row.site.0, row.access, uses);
        }
    }
}

/// Returns true if the type is certain by the cache's name and size, without a vote.
fn is_certain(object: &ResolvedObject) -> bool {
    object.votes.support == 0.0 && object.confidence == 1.0
}

/// Answers about one cache, or all: places, accesses and transfers.
#[derive(Clone, Copy, Debug, Default)]
struct AnswerSums {
    all: [u64; 3],
    answered: [u64; 3],
    right: [u64; 3],
}

impl AnswerSums {
    fn add(&mut self, opinion: &SiteOpinion, uses: UseCounts) {
        let counted = [1, uses.accesses, uses.transfers];
        let add = |sums: &mut [u64; 3]| sums.iter_mut().zip(counted).for_each(|(sum, n)| *sum += n);
        add(&mut self.all);
        match opinion.verdict {
            OpinionVerdict::Same => {
                add(&mut self.answered);
                add(&mut self.right);
            }
            OpinionVerdict::Other => add(&mut self.answered),
            OpinionVerdict::Scalar | OpinionVerdict::Nothing => {}
        }
    }
}

fn print_caches(asked: &AskedOpinions) {
    let mut all = AnswerSums::default();
    let mut caches: BTreeMap<&str, AnswerSums> = BTreeMap::new();
    for ((place, opinion), uses) in asked {
        all.add(opinion, *uses);
        caches.entry(&place.cache).or_default().add(opinion, *uses);
    }
    println!(
        "| cache | places | answered | wrong | right | accesses | answered | right | transfers | answered | right |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    let mut rows: Vec<_> = caches.into_iter().collect();
    rows.sort_by(|a, b| b.1.all[0].cmp(&a.1.all[0]).then(a.0.cmp(b.0)));
    for (name, sums) in std::iter::once(("**all**", all)).chain(rows) {
        print!("| {name}");
        for n in 0..3 {
            print!(" | {}", sums.all[n]);
            print!(" | {}", percent(sums.answered[n], sums.all[n]));
            if n == 0 {
                print!(" | {}", sums.answered[n] - sums.right[n]);
            }
            print!(" | {}", percent(sums.right[n], sums.answered[n]));
        }
        println!(" |");
    }
}

fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.1}%", 100.0 * part as f64 / whole as f64),
    }
}

fn print_wrong(asked: &AskedOpinions, sources: &SourceMaps<'_, '_>) {
    let mut wrong: BTreeMap<(&str, u64, &SiteOpinion), (u64, UseCounts, u64)> = BTreeMap::new();
    for ((place, opinion), uses) in asked {
        if opinion.verdict == OpinionVerdict::Other {
            let sum = wrong.entry((&place.cache, place.pc, opinion)).or_default();
            sum.0 += 1;
            sum.1.accesses += uses.accesses;
            sum.1.transfers += uses.transfers;
            sum.2 = place.offset;
        }
    }
    let mut wrong: Vec<_> = wrong.into_iter().collect();
    wrong.sort_by_key(|(_, (places, uses, _))| std::cmp::Reverse((*places, uses.accesses)));
    let shown = std::env::var("WRONG").ok().and_then(|n| n.parse().ok());
    println!("\nwrong ({} instructions)", wrong.len());
    for ((cache, pc, opinion), (places, uses, offset)) in
        wrong.into_iter().take(shown.unwrap_or(WRONG_SHOWN))
    {
        let place = sources.look_up(LinkedAddress {
            file: FileId::MAIN,
            address: pc,
        });
        let words = place.map_or_else(String::new, |p| {
            let inlined = p.inlined.first().map_or("", |f| f.function.as_str());
            format!("{} {inlined}:{}", p.function, p.line.unwrap_or(0))
        });
        println!(
            "{places:>5} places {:>8} accesses {:>6} transfers  {cache} +{offset}: {pc:#x} {words} says {} +{} {:?}",
            uses.accesses, uses.transfers, opinion.type_name, opinion.offset, opinion.trust
        );
    }
}
