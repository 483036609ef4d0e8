//! Sentences about the layouts of a type in two builds.

pub(crate) mod hot;
pub(crate) mod pushed;
pub(crate) mod shape_pair;
