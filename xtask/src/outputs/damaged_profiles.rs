//! Profiles that were cut off, that have a wrong bit, or that somebody made to be wrong.

use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::folder_files::copy_entry;

/// The profile that the damaged ones are copies of.
const WHOLE: &str = "new.relayout";
/// Files that are damaged, each in a profile of its own.
const FILES: [&str; 7] = [
    "bursts.parquet",
    "conflicts.parquet",
    "counts.parquet",
    "lines.parquet",
    "sites.parquet",
    "visits.parquet",
    "meta.json",
];
const DAMAGES: [ProfileDamage; 3] = [
    ProfileDamage::Cut,
    ProfileDamage::Flipped,
    ProfileDamage::Resealed,
];

/// A way to damage a file of a profile.
#[derive(Clone, Copy, Debug)]
enum ProfileDamage {
    /// The second half is missing.
    Cut,
    /// A bit in the middle is wrong.
    Flipped,
    /// A bit is wrong, and the checksum in `meta.json` is that of the wrong file, so that decoders see it.
    Resealed,
}

impl ProfileDamage {
    fn profile_name(self, file: &str) -> String {
        let damage = match self {
            Self::Cut => "cut",
            Self::Flipped => "flipped",
            Self::Resealed => "resealed",
        };
        let stem = file.split('.').next().unwrap_or(file);
        format!("{damage}-{stem}.relayout")
    }

    /// Damages a file of the profile at `folder`.
    fn apply(self, folder: &Path, file: &str) -> anyhow::Result<()> {
        let path = folder.join(file);
        let whole = fs::read(&path).with_context(|| path.display().to_string())?;
        let mut damaged = whole.clone();
        let middle = whole.len() / 2;
        match self {
            Self::Cut => damaged.truncate(middle),
            Self::Flipped | Self::Resealed => damaged[middle] ^= 1,
        }
        fs::write(&path, &damaged)?;
        if matches!(self, Self::Resealed) {
            let meta = folder.join("meta.json");
            let checksum = |bytes| crc32fast::hash(bytes).to_string();
            let text = String::from_utf8_lossy(&fs::read(&meta)?)
                .replace(&checksum(&whole), &checksum(&damaged));
            fs::write(meta, text)?;
        }
        Ok(())
    }
}

/// Names of all damaged profiles: `cut-lines.relayout`.
pub fn profile_names() -> impl Iterator<Item = String> {
    damages().map(|(damage, file)| damage.profile_name(file))
}

fn damages() -> impl Iterator<Item = (ProfileDamage, &'static str)> {
    DAMAGES
        .into_iter()
        .flat_map(|damage| FILES.map(|file| (damage, file)))
}

/// Makes the damaged profiles that are missing, and a folder that is no profile.
///
/// # Errors
/// The whole profile cannot be read, or a file cannot be written.
pub fn make_damaged_profiles(inputs: &Path) -> anyhow::Result<()> {
    for (damage, file) in damages() {
        let folder = inputs.join(damage.profile_name(file));
        if !folder.exists() {
            copy_entry(&inputs.join(WHOLE), &folder)?;
            damage.apply(&folder, file)?;
        }
    }
    fs::create_dir_all(inputs.join("empty.relayout")).context("empty.relayout")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::ProfileDamage;

    #[test]
    fn a_resealed_file_has_its_checksum() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (table, meta) = (
            folder.path().join("lines.parquet"),
            folder.path().join("meta.json"),
        );
        fs::write(&table, "table").expect("a file");
        fs::write(&meta, format!("crc32: {}", crc32fast::hash(b"table"))).expect("a file");
        let damaged = ProfileDamage::Resealed.apply(folder.path(), "lines.parquet");
        damaged.expect("files");
        let bytes = fs::read(&table).expect("the file");
        assert_eq!(bytes, b"tacle");
        let text = fs::read_to_string(&meta).expect("the file");
        assert_eq!(text, format!("crc32: {}", crc32fast::hash(b"tacle")));
    }
}
