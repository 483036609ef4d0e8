//! Values kept for the requests that they answer.

use serde::Serialize;

use crate::CachedFiles;
use crate::file_identity::fnv1a;
use crate::kept_seal::KeptMap;

/// A request whose answer is kept. Its serialised fields are the key, all of them: what influences the answer is
/// a field, and what does not is none.
pub trait CachedRequest: Serialize {
    /// Kind of the answers: the extension of their files.
    const KIND: &'static str;
}

/// The store of all kept values. A value is a file: the serialised request, and the value's bytes.
#[derive(Clone, Debug)]
pub struct CachedValues {
    files: CachedFiles,
}

/// A kept value that is mapped.
pub struct MappedValue {
    map: KeptMap,
    /// Bytes of the request in front of the value.
    key_bytes: usize,
}

/// A request as the store knows it.
pub(crate) struct CacheKey {
    pub file_name: String,
    pub bytes: Vec<u8>,
}

impl CachedValues {
    /// Finds the store. `None` without a cache folder, or with `$RELAYOUT_NO_CACHE`.
    pub fn locate() -> Option<Self> {
        Some(Self {
            files: CachedFiles::locate()?,
        })
    }

    /// Returns the value that is kept for this request.
    pub fn read<R: CachedRequest>(&self, request: &R) -> Option<Vec<u8>> {
        let key = CacheKey::from_request(request)?;
        let mut bytes = self.files.read(&key.file_name)?;
        // Another request may have a file of the same name.
        bytes.starts_with(&key.bytes).then(|| {
            bytes.drain(..key.bytes.len());
            bytes
        })
    }

    /// Maps the value that is kept for this request.
    pub fn map<R: CachedRequest>(&self, request: &R) -> Option<MappedValue> {
        let key = CacheKey::from_request(request)?;
        let map = self.files.map(&key.file_name)?;
        let key_bytes = key.bytes.len();
        { map.starts_with(&key.bytes) }.then_some(MappedValue { map, key_bytes })
    }

    /// Keeps the value of this request, in the place of an older one.
    pub fn keep<R: CachedRequest>(&self, request: &R, value: &[u8]) {
        if let Some(key) = CacheKey::from_request(request) {
            let bytes = [&key.bytes, value].concat();
            self.files.write(&key.file_name, &bytes);
        }
    }
}

impl MappedValue {
    /// Bytes of the value.
    pub fn bytes(&self) -> &[u8] {
        &self.map[self.key_bytes..]
    }
}

impl CacheKey {
    /// Returns the key of a request; `None` if it cannot be serialised, as a path that is no text cannot.
    pub fn from_request<R: CachedRequest>(request: &R) -> Option<Self> {
        let mut bytes = serde_json::to_vec(request).ok()?;
        // JSON has no bare line feed, so no key is the beginning of another one.
        bytes.push(b'\n');
        Some(Self {
            file_name: format!("{:016x}.{}", fnv1a(&bytes), R::KIND),
            bytes,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    struct NamedQuestion {
        name: &'static str,
        top: Option<usize>,
    }

    impl CachedRequest for NamedQuestion {
        const KIND: &'static str = "answer";
    }

    fn question(name: &'static str, top: Option<usize>) -> NamedQuestion {
        NamedQuestion { name, top }
    }

    fn store() -> (tempfile::TempDir, CachedValues) {
        let (dir, files) = CachedFiles::in_test_folder();
        (dir, CachedValues { files })
    }

    #[test]
    fn each_request_has_its_value() {
        let (_dir, values) = store();
        values.keep(&question("a", None), b"one");
        values.keep(&question("a", Some(1)), b"two");
        let read = |name, top| values.read(&question(name, top));
        assert_eq!(read("a", None).as_deref(), Some(&b"one"[..]));
        assert_eq!(read("a", Some(1)).as_deref(), Some(&b"two"[..]));
        assert_eq!(read("b", None), None);
        let mapped = values.map(&question("a", Some(1))).expect("it is kept");
        assert_eq!(mapped.bytes(), b"two");
        values.keep(&question("a", None), b"");
        assert_eq!(read("a", None).as_deref(), Some(&b""[..]));
    }

    /// Names of files are hashes, which two requests may share.
    #[test]
    fn the_file_of_another_request_is_no_value() {
        let (_dir, values) = store();
        values.keep(&question("a", None), b"one");
        let key = |name| CacheKey::from_request(&question(name, None)).expect("text");
        let bytes = values.files.read(&key("a").file_name).expect("it is kept");
        values.files.write(&key("b").file_name, &bytes);
        assert_eq!(values.read(&question("b", None)), None);
        assert!(values.map(&question("b", None)).is_none());
    }
}
