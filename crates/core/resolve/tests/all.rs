//! Tests of what the crate offers, in one program: each further one is linked with all that it uses.

mod aarch64_evidence;
mod aarch64_operands;
mod instrumented;
mod program_truth;
mod small_program;
mod truth;
mod x86_operands;
