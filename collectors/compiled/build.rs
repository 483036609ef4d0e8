//! Gives the runtime a name of its own, so that programs do not ask for it by the path it was linked from.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,librelayout_rt.so");
}
