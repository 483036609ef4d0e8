//! Readers against what compilers make: each language, format and byte order, with the compiler's own
//! word on sizes and offsets.

mod languages;
mod parts;
mod targets;
mod tools;
