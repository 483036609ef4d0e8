use std::path::Path;

use relayout_toolchain::compile::{CompileCommand, CompileDatabase, CompileRecipe};

/// `compile_commands.json`, and what is kept of its commands. Response files hold the text itself,
/// and so include themselves.
pub fn compile_commands(data: &[u8]) {
    let Ok(database) = CompileDatabase::parse(data, Path::new("/project/compile_commands.json"))
    else {
        return;
    };
    let text = String::from_utf8_lossy(data);
    for command in &database.commands {
        for read in [true, false] {
            recipe(command, read.then_some(&text));
        }
    }
}

fn recipe(command: &CompileCommand, response: Option<&str>) {
    let read = |_: &Path| response.map(str::to_owned);
    command.rough_language();
    if let Ok(Some(recipe)) = CompileRecipe::from_command(command, &read) {
        assert!(!recipe.compiler.is_empty());
    }
}
