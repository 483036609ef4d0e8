use relayout_layout::catalog::*;
use relayout_layout::dwarf::SectionStore;
use relayout_layout::pahole::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let f = std::fs::File::open(&a[1]).unwrap();
    let b = unsafe { memmap2::Mmap::map(&f).unwrap() };
    let s = SectionStore::default();
    let btf = a.iter().any(|x| x == "--btf");
    let c = Catalog::parse_in(&b, &s, if btf { Format::Btf } else { Format::Any }).unwrap();
    let o = Options {
        expand: a.iter().any(|x| x == "-E"),
        alignments_known: c.knows_alignments(),
        ..Options::default()
    };
    let t = c
        .each(&c.aggregates(), |t, i, _| {
            render(t, i, &o).unwrap_or_default()
        })
        .unwrap();
    print!("{}", t.concat());
}
