//! Tests of the crate's public items. They are one program, because linking takes most of the time of a test program.

mod aarch64_evidence;
mod aarch64_operands;
mod instrumented;
mod program_truth;
mod small_program;
mod truth;
mod x86_operands;
