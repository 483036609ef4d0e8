//! Addresses of data sets: folders, and object stores by URL.

use std::path::Path as FilePath;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::path::Path;
use url::Url;

use crate::FleetError;

/// Place of a data set.
#[derive(Clone, Debug)]
pub struct SetAddress {
    /// Address as the user gave it, without a slash at its end.
    pub given: String,
    /// Its store, as `s3://bucket` or `file:///`.
    pub store_url: Url,
    /// Store.
    pub store: Arc<dyn ObjectStore>,
    /// Folder in the store.
    pub root: Path,
}

impl SetAddress {
    /// Reads an address. Nothing is opened yet. Keys for object stores come from the environment, as their own tools read
    /// them (`AWS_ACCESS_KEY_ID`, `AWS_ENDPOINT`, `GOOGLE_SERVICE_ACCOUNT`, `AZURE_STORAGE_ACCOUNT_KEY`).
    ///
    /// # Errors
    /// The address is no folder, and no URL of a known kind.
    pub fn parse(given: &str) -> Result<Self, FleetError> {
        let refuse = |reason: String| FleetError::Address {
            address: given.to_owned(),
            reason,
        };
        let trimmed = match given.trim_end_matches('/') {
            "" => return Err(refuse("it is no folder of its own".to_owned())),
            // Queries take what follows for no part of the path, and would read nothing.
            name if name.contains(['?', '#']) => {
                return Err(refuse("its name has a ? or #".to_owned()));
            }
            trimmed if given.contains("://") && !trimmed.contains("://") => given,
            trimmed => trimmed,
        };
        match trimmed.split_once("://") {
            Some(("file", path)) => Self::of_folder(given, FilePath::new(path)).map_err(refuse),
            Some(_) => {
                let url = Url::parse(trimmed).map_err(|error| refuse(error.to_string()))?;
                Self::of_url(trimmed, &url).map_err(refuse)
            }
            None => Self::of_folder(trimmed, FilePath::new(trimmed)).map_err(refuse),
        }
    }

    fn of_folder(given: &str, folder: &FilePath) -> Result<Self, String> {
        if folder.is_file() {
            return Err("it is a file".to_owned());
        }
        let folder = std::path::absolute(folder).map_err(|error| error.to_string())?;
        // The folder need not be there yet, but links on the way to it count.
        let folder = folder.canonicalize().unwrap_or(folder);
        Ok(Self {
            given: given.to_owned(),
            store_url: Url::parse("file:///").map_err(|error| error.to_string())?,
            store: Arc::new(LocalFileSystem::new()),
            root: Path::from_absolute_path(&folder).map_err(|error| error.to_string())?,
        })
    }

    fn of_url(given: &str, url: &Url) -> Result<Self, String> {
        if url.host_str().is_none_or(str::is_empty) {
            return Err("it names no bucket".to_owned());
        }
        let settings = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.into_string().ok()?.to_ascii_lowercase();
            let is_of_store = ["aws_", "google_", "azure_"]
                .iter()
                .any(|start| name.starts_with(start));
            is_of_store.then_some((name, value.into_string().ok()?))
        });
        let (store, root) =
            object_store::parse_url_opts(url, settings).map_err(|error| error.to_string())?;
        let mut store_url = url.clone();
        store_url.set_path("");
        Ok(Self {
            given: given.to_owned(),
            store_url,
            store: Arc::from(store),
            root,
        })
    }

    /// Returns the path of a file in the store. `relative` is its path in the data set.
    pub fn path(&self, relative: &str) -> Path {
        let inner = Path::from(relative);
        self.root.parts().chain(inner.parts()).collect()
    }

    /// Returns the path in the data set of a file in the store.
    pub fn relative(&self, path: &Path) -> Option<String> {
        let parts: Vec<_> = path.prefix_match(&self.root)?.collect();
        let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
        Some(parts.join("/"))
    }

    /// Returns the URL of a file, for queries.
    pub fn file_url(&self, relative: &str) -> String {
        format!(
            "{}/{}",
            self.store_url.as_str().trim_end_matches('/'),
            self.path(relative)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let folder = SetAddress::parse("some/fleet/").expect("a folder");
        assert!(folder.root.as_ref().ends_with("some/fleet"));
        let url = folder.file_url("fleet.json");
        assert!(
            url.starts_with("file:/") && url.ends_with("/some/fleet/fleet.json"),
            "{url}"
        );
        for wrong in ["", "/", "gopher://x/y", "s3:///", "what?", "s3://bucket/#1"] {
            let error = SetAddress::parse(wrong).expect_err(wrong);
            assert!(
                matches!(error, FleetError::Address { .. }),
                "{wrong}: {error}"
            );
        }
    }
}
