//! Headers, compiled as their project compiles them, so that their types can be checked without a
//! build.

use std::path::{Path, PathBuf};

use relayout_files::{InterruptFlag, cannot};
use relayout_messages::{RecordingProgress, UserError};
use relayout_toolchain::compile::{
    CompileDatabase, CompileRecipe, Error, HeaderUnit, UnitCompiler,
};

/// Name of a compilation database.
const DATABASE: &str = "compile_commands.json";
/// Configurations in a kernel's build folder: as the build uses it, then as it is edited.
const KERNEL_CONFIGS: [&str; 2] = ["include/config/auto.conf", ".config"];

/// Headers to compile, and the commands for it.
#[derive(Clone, Debug, Default)]
pub struct HeaderSources {
    /// Headers or source files whose types are checked.
    pub headers: Vec<PathBuf>,
    /// Compilation databases; empty for `compile_commands.json` in the folder of the header or
    /// above.
    pub databases: Vec<NamedDatabase>,
    /// Source file whose command compiles the headers; `None` for one near the header that includes
    /// it.
    pub like: Option<PathBuf>,
    /// Headers to include before.
    pub included_before: Vec<String>,
    /// Compiler to run instead of the one that the database names.
    pub compiler: Option<String>,
}

/// `rt=build-rt/compile_commands.json`: a compilation database and its configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedDatabase {
    /// Name of the configuration in `relayout.toml`.
    pub configuration: Option<String>,
    /// The database.
    pub path: PathBuf,
}

/// A header that was compiled in one configuration.
#[derive(Clone, Debug)]
pub struct CompiledHeader {
    /// The header, as it was given.
    pub header: PathBuf,
    /// Configuration of the database.
    pub configuration: Option<String>,
    /// The object file.
    pub object: Vec<u8>,
    /// Text of the kernel's configuration, in a kernel's build folder.
    pub kernel_config: Option<String>,
}

impl NamedDatabase {
    /// Parses `[NAME=]FILE`. A `=` after a `/` is part of the path.
    ///
    /// # Errors
    /// The name or the path is empty.
    pub fn parse(text: &str) -> Result<Self, String> {
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

/// Compiles each header in each configuration. `instances` are instances of templates, which exist
/// only where they are named; an object lacks those that its header does not know.
///
/// # Errors
/// A header or database that is not there, a compiler that refuses.
pub(super) fn compile_headers(
    sources: &HeaderSources,
    instances: &[String],
    progress: &dyn RecordingProgress,
) -> Result<Vec<CompiledHeader>, UserError> {
    let interrupt = InterruptFlag::catch();
    let compiler = UnitCompiler::new(interrupt)?;
    let mut built = Vec::new();
    for header in &sources.headers {
        for named in databases(sources, header)? {
            let database = CompileDatabase::read(&named.path)?;
            let path = find_file(header, &database)?;
            let recipe = select_recipe(sources, &database, &path)?;
            progress.step(&format!(
                "compiling {} as {} is",
                header.display(),
                recipe.source_file.display()
            ));
            let mut unit = HeaderUnit {
                included_before: sources.included_before.clone(),
                header: path,
                types: instances.to_vec(),
            };
            let object = compile_instances(&compiler, &recipe, &mut unit);
            built.push(CompiledHeader {
                header: header.clone(),
                configuration: named.configuration,
                object: object?,
                kernel_config: kernel_config(&recipe.directory),
            });
        }
    }
    Ok(built)
}

/// Compiles a header with the instances that it knows. A refused instance may be unknown to it, so
/// each is tried by itself.
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
    // Reports an error of the header itself.
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

fn databases(sources: &HeaderSources, header: &Path) -> Result<Vec<NamedDatabase>, UserError> {
    if !sources.databases.is_empty() {
        return Ok(sources.databases.clone());
    }
    let absolute = std::path::absolute(header).map_err(cannot("find", header))?;
    let path = absolute
        .ancestors()
        .skip(1)
        .map(|folder| folder.join(DATABASE))
        .find(|path| path.is_file())
        .ok_or_else(|| {
            let message = format!(
                "there is no {DATABASE} in the folder of {} or above it",
                header.display()
            );
            UserError::input(message).with_remedy(
                "say with --compile-commands where it is (Linux: scripts/clang-tools/gen_compile_commands.py makes it \
                 after a build, CMake: -DCMAKE_EXPORT_COMPILE_COMMANDS=ON)",
            )
        })?;
    Ok(vec![NamedDatabase {
        configuration: None,
        path,
    }])
}

/// Finds a file from the current folder, or else from that of the database.
fn find_file(file: &Path, database: &CompileDatabase) -> Result<PathBuf, UserError> {
    let folder = database.path.parent().unwrap_or(Path::new("/"));
    Ok(file
        .canonicalize()
        .or_else(|error| folder.join(file).canonicalize().map_err(|_| error))
        .and_then(|path| relayout_files::open_regular(&path).map(|_| path))
        .map_err(cannot("find", file))?)
}

fn select_recipe(
    sources: &HeaderSources,
    database: &CompileDatabase,
    header: &Path,
) -> Result<CompileRecipe, UserError> {
    let read = |path: &Path| {
        let bytes = relayout_files::read_regular(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let recipe = match &sources.like {
        Some(file) => database.recipe_of_file(&find_file(file, database)?, &read),
        None => relayout_toolchain::compile::choose_recipe(database, header, &read),
    };
    let mut recipe = recipe?;
    if let Some(command) = &sources.compiler {
        recipe.set_compiler(command)?;
    }
    Ok(recipe)
}

fn kernel_config(directory: &Path) -> Option<String> {
    KERNEL_CONFIGS
        .iter()
        .find_map(|name| relayout_files::read_regular_text(&directory.join(name)).ok())
}
