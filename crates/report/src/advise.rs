//! Advice and `what-if`: JSON documents, text, and the mail of a patch.

mod curve_document;
mod document;
mod json;
mod message;
mod text;

pub use document::{AdviseDocument, WhatIfDocument};
pub use json::{advise_document, what_if_document};
pub use message::{patch_description, patch_mail};
pub use text::{AdviceTextOptions, advise_text, what_if_text};
