//! Device configuration files: which optional features the targets of a build have.
//!
//! ```toml
//! [targets.embedded]
//! aspects = ["generic_pointer", "sub_groups"]
//!
//! [targets.server]
//! like = "embedded"            # and what is named here
//! aspects = ["fp64", "fp16"]
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use oclave_image::Aspects;
use serde::Deserialize;

use crate::error::{Error, Result};

/// The targets of a device configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceConfig {
    targets: BTreeMap<String, Aspects>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    targets: BTreeMap<String, Target>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Target {
    #[serde(default)]
    aspects: Vec<String>,
    like: Option<String>,
}

impl DeviceConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) when it cannot be read; else as [`DeviceConfig::parse`], with the path.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
        Self::parse(&text).map_err(|error| Error::config(format!("{}: {error}", path.display())))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config) for what is not TOML of this form, unknown aspects, and targets that
    /// are like each other.
    pub fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)
            .map_err(|error| Error::config(format!("no device configuration: {error}")))?;
        let targets = file.targets.keys().map(|name| Ok((name.clone(), aspects(&file, name)?)));
        Ok(Self { targets: targets.collect::<Result<_>>()? })
    }

    /// The aspects of a target.
    ///
    /// # Errors
    /// [`ErrorKind::Config`](crate::ErrorKind::Config), with the targets that there are.
    pub fn aspects(&self, target: &str) -> Result<Aspects> {
        self.targets.get(target).copied().ok_or_else(|| {
            let names: Vec<&str> = self.targets.keys().map(String::as_str).collect();
            Error::config(format!("there is no target `{target}`: there is `{}`", names.join("`, `")))
        })
    }

    /// The names of the targets, sorted.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.targets.keys().map(String::as_str)
    }
}

/// The aspects of a target and of those that it is like.
fn aspects(file: &File, name: &str) -> Result<Aspects> {
    let mut all = Aspects::empty();
    let mut seen = BTreeSet::new();
    let mut next = Some(name);
    while let Some(current) = next {
        if !seen.insert(current) {
            return Err(Error::config(format!("target `{name}` is like itself, by way of `{current}`")));
        }
        let target = file.targets.get(current).ok_or_else(|| {
            Error::config(format!("target `{name}` is like `{current}`, which there is not"))
        })?;
        for aspect in &target.aspects {
            all |= Aspects::from_aspect_name(aspect).ok_or_else(|| {
                let known: Vec<&str> = Aspects::all().names().collect();
                Error::config(format!(
                    "target `{current}` has the aspect `{aspect}`, which is not known; known are `{}`",
                    known.join("`, `")
                ))
            })?;
        }
        next = target.like.as_deref();
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn targets_have_their_aspects_and_those_that_they_are_like() {
        let text = "[targets.small]\naspects = [\"generic_pointer\"]\n[targets.large]\nlike = \"small\"\naspects = [\"fp64\"]\n";
        let config = DeviceConfig::parse(text).unwrap();
        assert_eq!(config.targets().collect::<Vec<_>>(), ["large", "small"]);
        assert_eq!(config.aspects("small").unwrap(), Aspects::GENERIC_POINTER);
        assert_eq!(config.aspects("large").unwrap(), Aspects::GENERIC_POINTER | Aspects::FP64);
        let text = config.aspects("tiny").unwrap_err().to_string();
        assert!(text.contains("`large`, `small`"), "{text}");
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("[targets.a]\naspects = [\"fp65\"]", "`fp65`"),
            ("[targets.a]\nlike = \"b\"", "`b`"),
            ("[targets.a]\nlike = \"b\"\n[targets.b]\nlike = \"a\"", "like itself"),
            ("[targets.a]\naspect = []", "aspect"),
            ("targets = 3", "targets"),
            ("[", "no device configuration"),
        ] {
            let error = DeviceConfig::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{part} in {error}");
        }
    }
}
