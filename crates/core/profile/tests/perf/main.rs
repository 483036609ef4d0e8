//! Files of perf, written byte by byte: what is read from them, and what is refused.

mod builder;
mod damage;
mod decode;
mod import;
mod oracle;
mod refuse;
