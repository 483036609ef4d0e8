//! `relayout man`: manual pages, made from the same definitions as the help.

use std::path::PathBuf;

use clap_mangen::Man;
use relayout_files::{cannot, write_atomically};
use relayout_messages::UserError;
use roff::{Roff, roman};

use crate::exit::ExitStatus;
use crate::print::print_note;

/// Write the manual pages to a folder: relayout.1, and one for each command
///
/// A folder that is called man1 below one in $MANPATH is where `man` looks, as in ~/.local/share/man/man1.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder of the pages; it is made if it is missing
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

/// Runs the command. `root` is the definition of all commands.
///
/// # Errors
/// A page cannot be written.
pub fn run(args: &Args, root: clap::Command) -> Result<ExitStatus, UserError> {
    std::fs::create_dir_all(&args.folder).map_err(cannot("make", &args.folder))?;
    let mut root = root.disable_help_subcommand(true);
    root.build();
    let count = write_pages(args, &root)?;
    print_note(&format!(
        "{count} manual pages are in {}",
        args.folder.display()
    ));
    Ok(ExitStatus::Done)
}

/// Writes the page of a command and those of the commands below it; returns their number.
fn write_pages(args: &Args, command: &clap::Command) -> Result<usize, UserError> {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    let man = Man::new(command.clone())
        .title(name.to_uppercase())
        .date(env!("RELAYOUT_DATE"))
        .source(concat!("relayout ", env!("CARGO_PKG_VERSION")))
        .manual("relayout");
    let file = args.folder.join(man.get_filename());
    write_atomically(&file, &page(&man, command)?)?;
    let mut count = 1;
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        count += write_pages(args, below)?;
    }
    Ok(count)
}

fn page(man: &Man, command: &clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    if command
        .get_arguments()
        .any(|argument| !argument.is_hide_set())
    {
        man.render_options_section(&mut page)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(notes) = command.get_after_long_help().or(command.get_after_help()) {
        page.extend(notes_section(&notes.to_string()).into_bytes());
    }
    Ok(tidy_roff(&page).into_bytes())
}

/// Takes out of clap's output what mandoc warns of: blanks at ends of lines, and two breaks for a space.
fn tidy_roff(page: &[u8]) -> String {
    let page = String::from_utf8_lossy(page);
    let lines = page.lines().map(str::trim_end);
    let trimmed = lines.fold(String::new(), |text, line| text + line + "\n");
    trimmed.replace("\n.br\n\n.br\n", "\n.sp\n")
}

/// Renders what the help says after the options: indented lines as they are, other lines as paragraphs.
fn notes_section(notes: &str) -> String {
    let mut roff = Roff::new();
    roff.control("SH", ["NOTES"]);
    let mut is_literal = false;
    for line in notes.lines() {
        if line.starts_with("  ") != is_literal && !line.is_empty() {
            is_literal = !is_literal;
            roff.control(if is_literal { "EX" } else { "EE" }, []);
        }
        match line {
            "" if is_literal => roff.text([roman("")]),
            "" => roff.control("PP", []),
            line => roff.text([roman(line)]),
        };
    }
    if is_literal {
        roff.control("EE", []);
    }
    roff.to_roff()
}
