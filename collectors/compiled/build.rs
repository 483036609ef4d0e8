//! Gives the runtime a soname, so that programs do not refer to it by the path at which it was
//! linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,librelayout_rt.so");
}
