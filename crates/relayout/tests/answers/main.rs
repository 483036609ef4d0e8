//! What `report`, `advise`, `what-if` and `view` say of a profile.

#[path = "../common/mod.rs"]
mod common;

mod advise;
mod advise_check;
mod advise_edits;
mod cases;
mod exports;
mod hostile_names;
mod new_user;
mod order_and_doubt;
mod outcomes;
mod pages;
mod prediction;
mod screens;
mod twins;
mod view;
