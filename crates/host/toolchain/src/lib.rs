//! Compilers: `relayout cc`, units of a project, and kernels with and without a patch.
//!
//! - [`cc`] is `relayout cc`: the user's compiler with the flags that make a program record itself.
//! - [`compile`] compiles a header as its project does, to read the layout of its types.
//! - [`kernel_build`] builds kernels from one source, and objects of a kernel in other
//!   configurations.
//!
//! - [`libraries`] builds what a published command lacks, and finds the script that fetches kernels.
//!
//! ```
//! use std::path::Path;
//! use relayout_toolchain::compile::SourceLanguage;
//!
//! assert_eq!(SourceLanguage::from_extension(Path::new("mm/mmap.c")), Some(SourceLanguage::C));
//! ```

pub mod cc;
pub mod compile;
pub mod kernel_build;
pub mod libraries;
