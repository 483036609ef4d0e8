//! Layouts that the user gives: a list of members, a struct's definition in C, or pahole's output.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use relayout_layout::TypeArena;
use relayout_layout::abi::{AbiEngine, StructShape};
use relayout_layout::type_words;
use relayout_patch::{DeclaredAlignment, DeclaredMember};
use relayout_search::UserLayout;
use relayout_search::order::{self, MemberOrder, OrderEntry};

/// What layouts are of.
pub(super) struct LayoutFileReader<'a> {
    pub types: &'a TypeArena,
    pub shape: &'a StructShape,
    /// Bytes of a cache line.
    pub line_bytes: u32,
}

impl LayoutFileReader<'_> {
    /// Reads layouts; each is called as its file.
    ///
    /// # Errors
    /// A file that cannot be read, or a layout that is not one of the type.
    pub fn read_files(&self, files: &[PathBuf]) -> anyhow::Result<Vec<UserLayout>> {
        files.iter().map(|path| self.read_file(path)).collect()
    }

    fn read_file(&self, path: &Path) -> anyhow::Result<UserLayout> {
        let bytes =
            std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let expected = "a struct as C or as pahole prints it, or one member per line, is needed";
        let Ok(text) = String::from_utf8(bytes) else {
            bail!("{}: not text; {expected}", path.display());
        };
        if text.trim().is_empty() {
            bail!("{}: it is empty; {expected}", path.display());
        }
        let order = match text.contains('{') {
            true => self.order_from_c(path, &text)?,
            false => order::parse(&text, self.shape).with_context(|| path.display().to_string())?,
        };
        let stem = path.file_stem().unwrap_or(path.as_os_str());
        Ok(UserLayout {
            name: stem.to_string_lossy().into_owned(),
            order,
        })
    }

    fn order_from_c(&self, path: &Path, text: &str) -> anyhow::Result<MemberOrder> {
        let file = path.display().to_string();
        let name = &self.shape.name;
        let declared = relayout_patch::read_declared_struct(&file, text, name)
            .map_err(|refusal| anyhow!("{refusal}"))?;
        let entries: anyhow::Result<Vec<OrderEntry>> = (declared.members.iter())
            .map(|member| self.order_entry(member).with_context(|| file.clone()))
            .collect();
        let align = self.align_bytes(declared.alignment);
        order::arrange_entries(&entries?, align, self.shape).with_context(|| file)
    }

    fn align_bytes(&self, align: Option<DeclaredAlignment>) -> u64 {
        match align {
            None => 1,
            Some(DeclaredAlignment::Bytes(bytes)) => bytes,
            Some(DeclaredAlignment::CacheLine) => u64::from(self.line_bytes.max(1)),
        }
    }

    fn order_entry(&self, member: &DeclaredMember) -> anyhow::Result<OrderEntry> {
        let line = member.line;
        let name = member.names.first().map_or("", String::as_str);
        let extent = self.member_extent(member)?;
        let known_atom = { self.shape.atoms.iter() }.find(|atom| {
            atom.names
                .iter()
                .any(|atom_name| member.names.contains(atom_name))
        });
        let unread_bound = member
            .bounds
            .iter()
            .find(|bound| bound.parse::<u64>().is_err());
        match (known_atom, extent) {
            (None, None) if unread_bound.is_some() => bail!(
                "line {line}: '{name}' is new, and its length '{}' is no number: write one",
                unread_bound.map_or("", String::as_str)
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
        Ok(OrderEntry {
            line: line as usize,
            names: member.names.clone(),
            align: self.align_bytes(member.alignment),
            extent,
        })
    }

    /// Size and alignment of what one name of `member` is, if its text tells.
    fn member_extent(&self, member: &DeclaredMember) -> anyhow::Result<Option<(u64, u64)>> {
        if member.is_special {
            return Ok(None);
        }
        let abi = AbiEngine::new(self.types);
        let Some((bytes, align)) = type_words::size_and_align(&abi, self.types, &member.type_text)
        else {
            return Ok(None);
        };
        let mut element_count = 1u64;
        for bound in &member.bounds {
            // A bound that is a macro is known where the member is.
            let Ok(number) = bound.parse::<u64>() else {
                return Ok(None);
            };
            element_count = (element_count.checked_mul(number)).with_context(|| {
                format!("line {}: '{bound}' elements are too many", member.line)
            })?;
        }
        let total = bytes
            .checked_mul(element_count)
            .filter(|total| *total <= u64::from(u32::MAX));
        let total = total.with_context(|| format!("line {}: larger than 4 GB", member.line))?;
        Ok(Some((total, align)))
    }
}
