//! `relayout cc` and `relayout c++`: compilers for programs that are to be recorded.

use std::env;
use std::ffi::OsString;
use std::path::Path;

use clap::CommandFactory;
use relayout_messages::UserError;
use relayout_toolchain::cc::{CompilerDriver, become_compiler, make_compiler_links, rust_flags};

use crate::exit::ExitStatus;
use crate::print::{print_failure, print_line, print_text};

const USE: &str = "\
Stands in for the compiler, and becomes it after adding what lets the code announce its accesses:
  make CC=\"relayout cc\" CXX=\"relayout c++\"
  ./configure CC=\"relayout cc\" CXX=\"relayout c++\"
  CC=\"relayout cc\" CXX=\"relayout c++\" cmake -B build -S .
  relayout record run -- ./program

Builds that take the compiler for one word (meson, cargo's cc crate, a cmake project that runs it) want links: \
'relayout cc --relayout-links [DIR]' makes relayout-cc and relayout-c++ beside the command, or in DIR; packages have \
them.
  CC=relayout-cc CXX=relayout-c++ meson setup build

All arguments are the compiler's own, --help and --version too ('relayout cc --relayout-help' says \
this). Which compiler: $RELAYOUT_CC and $RELAYOUT_CXX, else cc and c++; or, before all other \
arguments, '--compiler NAME' or '-- NAME':
  relayout cc -- clang-14 -O2 -c file.c

Use it for compiling and for linking. The optimisation level stays; -g and frame pointers are added; \
memcpy, memset and the like are called, not expanded, and functions do not end by jumps to others; link-time optimisation is left out. Refused are -static, -m32, and sanitizers with a runtime of their \
own (address, memory, leak). The program finds our runtime where relayout is installed, and it does \
nothing unless the program is recorded. gcc, or clang 14 or newer, for x86-64.

Rust, with the nightly compiler ('--target' keeps the flags from build scripts), and with full debug \
information, without which types have no members:
  RUSTFLAGS=\"$(relayout cc --relayout-rustflags)\" CARGO_PROFILE_RELEASE_DEBUG=2 \\
      cargo +nightly build --release --target x86_64-unknown-linux-gnu";

/// Compile or link, with the user's own gcc or clang, code that relayout can record
// The arguments are passed on unread.
#[derive(Debug, clap::Args)]
#[command(after_help = USE, disable_help_flag = true)]
pub struct Args {
    /// The compiler's arguments
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    _arguments: Vec<OsString>,
}

/// Becomes the compiler if the command line asks for it: before anything else looks at the
/// arguments, which are not ours.
pub fn intercept<C: CommandFactory>() -> Option<ExitStatus> {
    let mut words = env::args_os();
    let name = words.next()?;
    let driver = match CompilerDriver::from_link(Path::new(&name)) {
        Some(driver) => driver,
        None => match words.next()?.to_str()? {
            "cc" => CompilerDriver::C,
            "c++" => CompilerDriver::Cxx,
            _ => return None,
        },
    };
    let arguments: Vec<OsString> = words.collect();
    let text: Option<Result<String, UserError>> =
        match arguments.first().and_then(|word| word.to_str()) {
            Some("--relayout-help") => Some(Ok(help::<C>())),
            Some("--relayout-rustflags") => Some(
                rust_flags()
                    .map(|flags| flags + "\n")
                    .map_err(UserError::from),
            ),
            Some("--relayout-links") => Some(make_links(arguments.get(1).map(Path::new))),
            _ => None,
        };
    if let Some(text) = text {
        let printed = text.and_then(|text| print_text(&text));
        return Some(printed.map_or_else(|error| end_with(&error), |()| ExitStatus::Done));
    }
    let error = become_compiler(driver, &arguments, |note| {
        print_line(&format!("relayout cc: note: {note}"));
    });
    Some(end_with(&error.into()))
}

/// Makes links to the command in a folder, by default its own, and returns their paths.
fn make_links(folder: Option<&Path>) -> Result<String, UserError> {
    let command =
        env::current_exe().map_err(UserError::wrap("cannot find the program of this process"))?;
    let folder = folder.or(command.parent()).unwrap_or(Path::new("."));
    let made = make_compiler_links(&command, folder)?.into_iter();
    Ok(made.map(|link| format!("{}\n", link.display())).collect())
}

fn end_with(error: &UserError) -> ExitStatus {
    let status = ExitStatus::from(error.category());
    print_failure(error, status as u8);
    status
}

fn help<C: CommandFactory>() -> String {
    let whole = C::command();
    whole
        .find_subcommand("cc")
        .map(|cc| cc.clone().render_help().to_string())
        .unwrap_or_default()
}
