use relayout_profile::{ProfileFiles, decode, encode};
use serde_json::Value;

/// A profile's files, one after another, as they are and then with the sums in `meta.json` made
/// right, so that damage gets past them. What decodes is written and read again.
pub fn profile(data: &[u8]) {
    let mut files = unpack(data);
    round_trip(files.clone());
    correct_sums(&mut files);
    round_trip(files);
}

fn round_trip(files: ProfileFiles) {
    let Ok(profile) = decode(files) else { return };
    let again = decode(encode(&profile).expect("what was read can be written"));
    assert!(again.expect("what was written can be read") == profile);
}

/// The inverse of [`unpack`].
pub fn pack(files: &ProfileFiles) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in files {
        bytes.push(name.len() as u8);
        bytes.extend(name.as_bytes());
        bytes.extend((content.len() as u32).to_le_bytes());
        bytes.extend(content);
    }
    bytes
}

/// The files of an input, as far as it goes.
pub fn unpack(mut data: &[u8]) -> ProfileFiles {
    let mut files = ProfileFiles::new();
    while let Some((&name_len, rest)) = data.split_first() {
        let Some((name, rest)) = rest.split_at_checked(name_len.into()) else {
            break;
        };
        let Some((len, rest)) = rest.split_first_chunk() else {
            break;
        };
        let len = (u32::from_le_bytes(*len) as usize).min(rest.len());
        let (content, rest) = rest.split_at(len);
        // Names of other files are of no interest to the decoder.
        if let Ok(name) = std::str::from_utf8(name) {
            files.insert(name.to_owned(), content.to_vec());
        }
        data = rest;
    }
    files
}

fn correct_sums(files: &mut ProfileFiles) {
    let Some(mut meta) = files
        .get("meta.json")
        .and_then(|m| serde_json::from_slice(m).ok())
    else {
        return;
    };
    let meta: &mut Value = &mut meta;
    for (name, content) in files.iter() {
        let Some(table) = name.strip_suffix(".parquet") else {
            continue;
        };
        let Some(entry) = meta.get_mut("tables").and_then(|t| t.get_mut(table)) else {
            continue;
        };
        if let Some(entry) = entry.as_object_mut() {
            entry.insert("bytes".into(), content.len().into());
            entry.insert("crc32".into(), crc32fast::hash(content).into());
        }
    }
    files.insert("meta.json".into(), meta.to_string().into_bytes());
}
