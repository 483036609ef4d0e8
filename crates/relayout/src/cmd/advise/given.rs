//! Layouts that the user gives: a list of members, a struct's definition in C, or pahole's output.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use relayout_layout::Types;
use relayout_layout::abi::{Abi, Shape};
use relayout_layout::spelled;
use relayout_patch::{Declared, DeclaredAlign};
use relayout_search::Given;
use relayout_search::order::{self, Entry, Order};

/// What layouts are of.
pub(super) struct Target<'a> {
    pub types: &'a Types,
    pub shape: &'a Shape,
    /// Bytes of a cache line.
    pub line_bytes: u32,
}

impl Target<'_> {
    /// Reads layouts; each is called as its file.
    ///
    /// # Errors
    /// A file that cannot be read, or a layout that is not one of the type.
    pub fn read(&self, files: &[PathBuf]) -> anyhow::Result<Vec<Given>> {
        files.iter().map(|path| self.read_one(path)).collect()
    }

    fn read_one(&self, path: &Path) -> anyhow::Result<Given> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let needed = "a struct as C or as pahole prints it, or one member per line, is needed";
        let Ok(text) = String::from_utf8(bytes) else {
            bail!("{}: not text; {needed}", path.display());
        };
        if text.trim().is_empty() {
            bail!("{}: it is empty; {needed}", path.display());
        }
        let order = match text.contains('{') {
            true => self.of_c(path, &text)?,
            false => order::parse(&text, self.shape).with_context(|| path.display().to_string())?,
        };
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        Ok(Given {
            name: stem.to_string_lossy().into_owned(),
            order,
        })
    }

    fn of_c(&self, path: &Path, text: &str) -> anyhow::Result<Order> {
        let file = path.display().to_string();
        let name = &self.shape.name;
        let declared =
            relayout_patch::declared(&file, text, name).map_err(|refusal| anyhow!("{refusal}"))?;
        let entries: anyhow::Result<Vec<Entry>> = (declared.members.iter())
            .map(|member| self.entry(member).with_context(|| file.clone()))
            .collect();
        let align = self.bytes(declared.align);
        order::arrange(&entries?, align, self.shape).with_context(|| file)
    }

    fn bytes(&self, align: Option<DeclaredAlign>) -> u64 {
        match align {
            None => 1,
            Some(DeclaredAlign::Bytes(bytes)) => bytes,
            Some(DeclaredAlign::Line) => u64::from(self.line_bytes.max(1)),
        }
    }

    fn entry(&self, member: &Declared) -> anyhow::Result<Entry> {
        let line = member.line;
        let name = member.names.first().map_or("", String::as_str);
        let extent = self.extent(member)?;
        let known = { self.shape.atoms.iter() }
            .find(|atom| atom.names.iter().any(|own| member.names.contains(own)));
        let unread = member
            .bounds
            .iter()
            .find(|bound| bound.parse::<u64>().is_err());
        match (known, extent) {
            (None, None) if unread.is_some() => bail!(
                "line {line}: '{name}' is new, and its length '{}' is no number: write one",
                unread.map_or("", String::as_str)
            ),
            (None, None) => bail!(
                "line {line}: '{name}' is new, and the size of its type '{}' is not known: declare it as \
                 an array of char",
                member.type_text
            ),
            // Another type would be accessed in another way, which nothing recorded tells.
            (Some(atom), Some((bytes, _)))
                if bytes != atom.size && member.names.len() == 1 && !atom.flexible =>
            {
                bail!(
                    "line {line}: '{name}' has {bytes} bytes here and {} where it was recorded: only \
                     order and alignment can be judged",
                    atom.size
                )
            }
            _ => {}
        }
        Ok(Entry {
            line: line as usize,
            names: member.names.clone(),
            align: self.bytes(member.align),
            extent,
        })
    }

    /// Size and alignment of what one name of `member` is, if its text tells.
    fn extent(&self, member: &Declared) -> anyhow::Result<Option<(u64, u64)>> {
        if member.special {
            return Ok(None);
        }
        let abi = Abi::new(self.types);
        let Some((bytes, align)) = spelled::extent(&abi, self.types, &member.type_text) else {
            return Ok(None);
        };
        let mut count = 1u64;
        for bound in &member.bounds {
            // A bound that is a macro is known where the member is.
            let Ok(number) = bound.parse::<u64>() else {
                return Ok(None);
            };
            count = (count.checked_mul(number)).with_context(|| {
                format!("line {}: '{bound}' elements are too many", member.line)
            })?;
        }
        let total = bytes
            .checked_mul(count)
            .filter(|total| *total <= u64::from(u32::MAX));
        let total = total.with_context(|| format!("line {}: larger than 4 GB", member.line))?;
        Ok(Some((total, align)))
    }
}
