//! Programs that are built with `relayout cc`, recorded and resolved.

#[path = "../common/mod.rs"]
mod common;

mod cc;
mod ci_templates;
mod cxx_programs;
mod operations;
mod record_forks;
mod record_perf;
mod record_run;
mod record_slices;
mod record_values;
mod report_program;
mod rust_programs;
mod stack_variables;
mod threads;
mod type_names;
