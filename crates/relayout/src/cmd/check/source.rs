//! `relayout check --source`: where there is no file with debug information, the header is compiled as
//! the project compiles, and what comes out is checked.

use std::path::{Path, PathBuf};

use anyhow::Context;
use relayout_host::compile::{CompileDatabase, CompileRecipe, Error, HeaderUnit, UnitCompiler};
use relayout_host::{InterruptFlag, RecordingProgress as _};

use crate::progress::TerminalProgress;

/// The name of a compilation database.
const DATABASE: &str = "compile_commands.json";
/// Where in a kernel's build folder its configuration is, as the build uses it, then as it is edited.
const KERNEL_CONFIGS: [&str; 2] = ["include/config/auto.conf", ".config"];

/// What to compile, and how.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Without a vmlinux")]
pub struct Args {
    /// Check the types that this header or source file defines or includes: it is compiled as
    /// compile_commands.json says, and the debug information of that is checked. Runs the compiler
    /// that is named there. Can be given several times
    #[arg(long = "source", value_name = "FILE.h", conflicts_with = "update")]
    pub headers: Vec<PathBuf>,
    /// How the project is compiled; once for each configuration, with the name that it has in
    /// relayout.toml [default: compile_commands.json in the folder of FILE.h or one above it]
    #[arg(
        long = "compile-commands",
        value_name = "[NAME=]FILE",
        requires = "headers",
        value_parser = NamedDatabase::parse
    )]
    pub databases: Vec<NamedDatabase>,
    /// Compile as this source file is compiled [default: one that includes FILE.h and is near it]
    #[arg(long, value_name = "FILE.c", requires = "headers")]
    pub like: Option<PathBuf>,
    /// Include this before FILE.h, if it needs that; found as by `#include "..."`. Can be given several
    /// times
    #[arg(long = "include", value_name = "HEADER", requires = "headers")]
    pub before: Vec<String>,
    /// Run this compiler instead of the one that compile_commands.json names
    #[arg(long, value_name = "COMMAND", requires = "headers")]
    pub compiler: Option<String>,
}

/// `rt=build-rt/compile_commands.json`: a database, and the configuration that it is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDatabase {
    /// The configuration's name in `relayout.toml`.
    pub configuration: Option<String>,
    /// The database.
    pub path: PathBuf,
}

/// A header that was compiled in one configuration.
pub struct CompiledHeader {
    /// The header, as it was given.
    pub header: PathBuf,
    /// The configuration that the database is of.
    pub configuration: Option<String>,
    /// The object file.
    pub object: Vec<u8>,
    /// The text of the kernel's configuration, if it is one's.
    pub kernel_config: Option<String>,
}

impl NamedDatabase {
    /// A path can have `=` in it, after a `/`.
    fn parse(text: &str) -> Result<Self, String> {
        let named = text.split_once('=').filter(|(name, _)| !name.contains('/'));
        match named {
            Some(("", _)) | Some((_, "")) => {
                Err("write NAME=FILE, with the name of a configuration".to_owned())
            }
            Some((name, path)) => Ok(Self {
                configuration: Some(name.to_owned()),
                path: path.into(),
            }),
            None => Ok(Self {
                configuration: None,
                path: text.into(),
            }),
        }
    }
}

/// Compiles each header in each configuration. `instances` are the types of `relayout.toml` that
/// exist only where they are named, which are those of templates; what a header does not know of them
/// is not in its object.
///
/// # Errors
/// A header or database that is not there, a compiler that refuses.
pub fn compile_headers(args: &Args, instances: &[String]) -> anyhow::Result<Vec<CompiledHeader>> {
    let interrupt = InterruptFlag::catch();
    let progress = TerminalProgress::when_slow();
    let compiler = UnitCompiler::new(interrupt)?;
    let mut built = Vec::new();
    for header in &args.headers {
        for named in databases(args, header)? {
            let database =
                CompileDatabase::read(&named.path).map_err(relayout_host::Error::Compile)?;
            let path = find_file(header, &database)?;
            let recipe = select_recipe(args, &database, &path)?;
            progress.step(&format!(
                "compiling {} as {} is",
                header.display(),
                recipe.source_file.display()
            ));
            let mut unit = HeaderUnit {
                included_before: args.before.clone(),
                header: path,
                types: instances.to_vec(),
            };
            let object = compile_instances(&compiler, &recipe, &mut unit);
            built.push(CompiledHeader {
                header: header.clone(),
                configuration: named.configuration,
                object: object.map_err(relayout_host::Error::Compile)?,
                kernel_config: kernel_config(&recipe.directory),
            });
        }
    }
    progress.finish();
    Ok(built)
}

/// If the compiler refuses one of the types, the header may not know it: those it knows are found by
/// trying each.
fn compile_instances(
    compiler: &UnitCompiler,
    recipe: &CompileRecipe,
    unit: &mut HeaderUnit,
) -> Result<Vec<u8>, Error> {
    let refused = match compiler.compile(recipe, unit) {
        Err(error @ Error::Refused { .. }) if !unit.types.is_empty() => error,
        done => return done,
    };
    let types = std::mem::take(&mut unit.types);
    // An error of the header's own is told as such.
    compiler.compile(recipe, unit)?;
    let mut known = Vec::new();
    for instance in types {
        unit.types = vec![instance];
        match compiler.compile(recipe, unit) {
            Ok(_) => known.append(&mut unit.types),
            Err(Error::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    unit.types = known;
    compiler.compile(recipe, unit).map_err(|error| match error {
        Error::Refused { .. } => refused,
        other => other,
    })
}

fn databases(args: &Args, header: &Path) -> anyhow::Result<Vec<NamedDatabase>> {
    if !args.databases.is_empty() {
        return Ok(args.databases.clone());
    }
    let absolute =
        std::path::absolute(header).with_context(|| format!("cannot find {}", header.display()))?;
    let folders = absolute.ancestors().skip(1);
    let found = folders
        .map(|folder| folder.join(DATABASE))
        .find(|path| path.is_file());
    let path = found.with_context(|| {
        format!(
            "there is no {DATABASE} in the folder of {} or above it; say with --compile-commands where \
             it is (Linux: scripts/clang-tools/gen_compile_commands.py makes it after a build, CMake: \
             -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)",
            header.display()
        )
    })?;
    Ok(vec![NamedDatabase {
        configuration: None,
        path,
    }])
}

/// The file from here, else from where the database is.
fn find_file(file: &Path, database: &CompileDatabase) -> anyhow::Result<PathBuf> {
    let folder = database.path.parent().unwrap_or(Path::new("/"));
    let here = file.canonicalize();
    here.or_else(|error| folder.join(file).canonicalize().map_err(|_| error))
        .with_context(|| format!("cannot find {}", file.display()))
}

fn select_recipe(
    args: &Args,
    database: &CompileDatabase,
    header: &Path,
) -> anyhow::Result<CompileRecipe> {
    let read = |path: &Path| {
        let bytes = std::fs::read(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let recipe = match &args.like {
        Some(file) => database.recipe_of_file(&find_file(file, database)?, &read),
        None => relayout_host::compile::choose_recipe(database, header, &read),
    };
    let mut recipe = recipe.map_err(relayout_host::Error::Compile)?;
    if let Some(command) = &args.compiler {
        let set = recipe.set_compiler(command);
        set.map_err(relayout_host::Error::Compile)?;
    }
    Ok(recipe)
}

fn kernel_config(directory: &Path) -> Option<String> {
    KERNEL_CONFIGS
        .iter()
        .find_map(|name| std::fs::read_to_string(directory.join(name)).ok())
}
