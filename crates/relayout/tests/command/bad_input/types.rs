//! Commands that name types need a file with types, and the named type in it.

use super::kernel;
use crate::common::{Place, profile};

#[test]
fn type_that_is_not_there() {
    let place = kernel();
    place.refuses(
        "show vmlinux piont",
        2,
        "relayout: vmlinux has no type named `piont`; close: point",
    );
    place.refuses(
        "show vmlinux something",
        2,
        "relayout: vmlinux has no type named `something`; without a TYPE, all are shown",
    );
    profile::write(&place, "p", &place.path("vmlinux"), "");
    place.refuses(
        "advise p nothing",
        2,
        "relayout: no object of struct nothing is in the profile (see `relayout report` \
         for those that are)",
    );
    place.write("layout", "x\n");
    place.refuses(
        "what-if p nothing --layout layout",
        2,
        "relayout: no object of struct nothing is in the profile (see `relayout report` \
         for those that are)",
    );
}

#[test]
fn file_to_show_has_no_types() {
    let place = Place::new();
    place.refuses(
        "show none.o",
        2,
        "relayout: cannot read the types of none.o: No such file or directory (os error 2)",
    );
    place.write("text", "text");
    place.refuses(
        "show text",
        2,
        "relayout: cannot read the types of text: not an ELF file: it starts with bytes \
         74 65 78 74; a vmlinux, program or object file with debug information is needed",
    );
    place.write("empty", "");
    place.refuses(
        "show empty",
        2,
        "relayout: cannot read the types of empty: not an ELF file: it starts with \
         nothing: it is empty; a vmlinux, program or object file with debug information \
         is needed",
    );
    place.refuses(
        "show .",
        2,
        "relayout: cannot read the types of .: is a directory",
    );
    place.compile("bare", "int x;", &["-g0", "-c"]);
    place.refuses(
        "show bare",
        2,
        "relayout: cannot read the types of bare: no debug information: neither DWARF \
         (.debug_info) nor BTF (.BTF); build with -g, or take the unstripped file from \
         the distribution's debug package",
    );
}
