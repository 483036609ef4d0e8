//! Readers on objects of each language, format and byte order, against the compilers' own sizes and
//! offsets.

mod distilled;
mod kernel_modules;
mod languages;
mod parts;
mod targets;
mod tools;
