//! Tables that all threads share: each string, function, frame and stack once.

use std::collections::HashMap;
use std::hash::Hash;

use crate::exports::firefox::format::{
    FrameTable, FuncTable, NativeSymbolTable, ResourceTable, SharedTables, SourceLocationTable,
    SourceTable, StackTable,
};
use crate::words::escape::escape_text;

/// Frame of a stack, by what the profiler shows of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct FrameName {
    pub function: String,
    pub file: Option<String>,
    pub line: Option<u32>,
    /// Number of the category in the profile's list.
    pub category: usize,
}

/// Builder of the shared tables.
#[derive(Default)]
pub(super) struct TableBuilder {
    strings: Interned<String>,
    sources: Interned<usize>,
    functions: Interned<(usize, Option<usize>)>,
    frames: Interned<(usize, Option<u32>, usize)>,
    /// Frame and caller.
    stacks: Interned<(usize, Option<usize>)>,
}

impl TableBuilder {
    /// Returns the row of a stack of frames, outermost first; `None` without frames.
    pub fn stack(&mut self, frames: &[FrameName]) -> Option<usize> {
        frames.iter().fold(None, |caller, frame| {
            let frame = self.frame(frame);
            Some(self.stacks.index_of((frame, caller)))
        })
    }

    fn frame(&mut self, frame: &FrameName) -> usize {
        let name = self.string(&frame.function);
        let source = { frame.file.as_deref() }.map(|file| {
            let file_name = self.string(file);
            self.sources.index_of(file_name)
        });
        let function = self.functions.index_of((name, source));
        self.frames.index_of((function, frame.line, frame.category))
    }

    /// Returns the row of a text, with characters that hide or reorder text as `\u{202e}`.
    fn string(&mut self, text: &str) -> usize {
        self.strings.index_of(escape_text(text).into_owned())
    }

    /// Returns the finished tables.
    pub fn into_tables(self) -> SharedTables {
        SharedTables {
            stack_table: stack_table(&self.stacks.values),
            frame_table: frame_table(&self.frames.values),
            func_table: func_table(&self.functions.values),
            resource_table: ResourceTable::default(),
            native_symbols: NativeSymbolTable::default(),
            sources: source_table(self.sources.values),
            string_array: self.strings.values,
            source_location_table: SourceLocationTable::default(),
        }
    }
}

fn stack_table(stacks: &[(usize, Option<usize>)]) -> StackTable {
    let offset = |(row, (_, caller)): (usize, &(usize, Option<usize>))| {
        caller.map_or(0, |caller| row - caller)
    };
    StackTable {
        frame: stacks.iter().map(|(frame, _)| *frame).collect(),
        prefix_offset: stacks.iter().enumerate().map(offset).collect(),
        length: stacks.len(),
    }
}

fn frame_table(frames: &[(usize, Option<u32>, usize)]) -> FrameTable {
    let length = frames.len();
    FrameTable {
        address: vec![-1; length],
        lib: vec![-1; length],
        inline_depth: vec![0; length],
        category: frames.iter().map(|(.., category)| *category).collect(),
        subcategory: vec![0; length],
        func: frames.iter().map(|(function, ..)| *function).collect(),
        native_symbol: vec![None; length],
        inner_window_id: vec![None; length],
        line: frames.iter().map(|(_, line, _)| *line).collect(),
        column: vec![None; length],
        original_location: vec![None; length],
        length,
    }
}

fn func_table(functions: &[(usize, Option<usize>)]) -> FuncTable {
    let length = functions.len();
    FuncTable {
        name: functions.iter().map(|(name, _)| *name).collect(),
        is_js: vec![false; length],
        relevant_for_js: vec![false; length],
        resource: vec![-1; length],
        source: functions.iter().map(|(_, source)| *source).collect(),
        line_number: vec![None; length],
        column_number: vec![None; length],
        original_location: vec![None; length],
        length,
    }
}

fn source_table(filename: Vec<usize>) -> SourceTable {
    let length = filename.len();
    SourceTable {
        id: vec![None; length],
        filename,
        start_line: vec![1; length],
        start_column: vec![1; length],
        source_map_url: vec![None; length],
        content: vec![None; length],
        length,
    }
}

/// Values in the order of their first use.
struct Interned<T> {
    values: Vec<T>,
    index: HashMap<T, usize>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self {
            values: Vec::new(),
            index: HashMap::new(),
        }
    }
}

impl<T: Clone + Eq + Hash> Interned<T> {
    fn index_of(&mut self, value: T) -> usize {
        *self.index.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            self.values.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, line: Option<u32>) -> FrameName {
        FrameName {
            function: function.to_owned(),
            file: line.map(|_| "a.c".to_owned()),
            line,
            category: 0,
        }
    }

    #[test]
    fn stacks_share_their_callers() {
        let mut tables = TableBuilder::default();
        let member = frame("hot.first", None);
        let stacks = [
            tables.stack(&[member.clone(), frame("main", Some(3))]),
            tables.stack(&[member.clone(), frame("main", Some(4))]),
            tables.stack(&[member.clone(), frame("main", Some(3))]),
            tables.stack(&[]),
        ];
        assert_eq!(stacks, [Some(1), Some(2), Some(1), None]);
        let tables = tables.into_tables();
        assert_eq!(tables.string_array, ["hot.first", "main", "a.c"]);
        assert_eq!(tables.stack_table.prefix_offset, [0, 1, 2]);
        assert_eq!(tables.frame_table.line, [None, Some(3), Some(4)]);
        assert_eq!(tables.func_table.length, 2, "one function, two lines");
    }
}
