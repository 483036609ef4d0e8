//! Files of perf, written byte by byte: decoded, refused, and compared with perf itself.

mod builder;
mod decode;
mod oracle;
mod published;
mod refuse;
