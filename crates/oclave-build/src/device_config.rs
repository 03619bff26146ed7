//! Device configuration files: which optional features the targets of a build have.
//!
//! ```toml
//! [targets.embedded]
//! aspects = ["generic_pointer", "sub_groups"]
//! sub_group_sizes = [8, 16]        # all that it has; unless said, any will do
//! max_work_group_size = 256        # unless said, there is no limit
//!
//! [targets.server]
//! like = "embedded"                # and what is named here: aspects besides, sizes instead
//! aspects = ["fp64", "fp16"]
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use oclave_image::{Aspects, DeviceImage, DeviceProfile, Side, passes};
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

/// The targets of a device configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceConfig {
    targets: BTreeMap<String, DeviceProfile>,
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
    sub_group_sizes: Option<Vec<usize>>,
    max_work_group_size: Option<usize>,
    like: Option<String>,
}

impl DeviceConfig {
    /// Reads a file.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] when it cannot be read; else as [`DeviceConfig::parse`], with the path.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map_err(|error| Error::io("read", path, error))?;
        Self::parse(&text).map_err(|error| Error::config(format!("{}: {error}", path.display())))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for what is not TOML of this form, unknown aspects, and targets that are like each other.
    pub fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)
            .map_err(|error| Error::config(format!("no device configuration: {error}")))?;
        let targets = file.targets.keys().map(|name| Ok((name.clone(), profile(&file, name)?)));
        Ok(Self { targets: targets.collect::<Result<_>>()? })
    }

    /// What is known of a target.
    ///
    /// # Errors
    /// [`ErrorKind::Config`], with the targets that there are.
    pub fn profile(&self, target: &str) -> Result<&DeviceProfile> {
        self.targets.get(target).ok_or_else(|| {
            let names: Vec<&str> = self.targets.keys().map(String::as_str).collect();
            Error::config(format!("there is no target `{target}`: there is `{}`", names.join("`, `")))
        })
    }

    /// The names of the targets, sorted.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.targets.keys().map(String::as_str)
    }

    /// Links the images of one program that at least one of the targets can run ([`passes::ahead_of_time`]).
    ///
    /// A target runs an image as a device or in the role of the host. `virtual_call_checks` says whether invalid virtual
    /// calls are reported.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for an unknown target, and when none of them runs any kernel; [`ErrorKind::PostLink`] for what
    /// cannot be linked.
    pub fn images_for(
        &self,
        targets: &[String],
        images: &[DeviceImage],
        virtual_call_checks: bool,
    ) -> Result<Vec<DeviceImage>> {
        let mut chosen: Vec<DeviceImage> = Vec::new();
        for (target, side) in
            targets.iter().flat_map(|target| [Side::Device, Side::Host].map(|side| (target, side)))
        {
            let device = DeviceProfile { side, ..self.profile(target)?.clone() };
            let of_target = passes::ahead_of_time(images, &device, virtual_call_checks).map_err(|error| {
                Error::new(ErrorKind::PostLink, format!("ahead of time for target `{target}`"))
                    .with_source(error)
            })?;
            for image in of_target {
                if !chosen.contains(&image) {
                    chosen.push(image);
                }
            }
        }
        if chosen.is_empty() {
            let names = targets.join("`, `");
            return Err(Error::config(format!(
                "no kernel of the program runs on one of the targets `{names}`"
            )));
        }
        Ok(chosen)
    }
}

/// A target with what it takes from those that it is like.
fn profile(file: &File, name: &str) -> Result<DeviceProfile> {
    let mut profile = DeviceProfile { name: name.to_owned(), ..DeviceProfile::default() };
    let (mut sub_group_sizes, mut max_work_group_size) = (None, None);
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
            profile.aspects |= Aspects::from_aspect_name(aspect).ok_or_else(|| {
                let known: Vec<&str> = Aspects::all().names().collect();
                Error::config(format!(
                    "target `{current}` has the aspect `{aspect}`, which is not known; known are `{}`",
                    known.join("`, `")
                ))
            })?;
        }
        // The nearest counts.
        sub_group_sizes = sub_group_sizes.or(target.sub_group_sizes.as_ref());
        max_work_group_size = max_work_group_size.or(target.max_work_group_size);
        next = target.like.as_deref();
    }
    profile.sub_group_sizes = sub_group_sizes.cloned().unwrap_or_default();
    profile.max_work_group_size = max_work_group_size.unwrap_or(profile.max_work_group_size);
    Ok(profile)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn targets_are_what_they_say_and_what_they_are_like() {
        let text = "[targets.small]\naspects = [\"generic_pointer\"]\nsub_group_sizes = [8]\nmax_work_group_size = 64\n\
                    [targets.large]\nlike = \"small\"\naspects = [\"fp64\"]\nsub_group_sizes = [16, 32]\n";
        let config = DeviceConfig::parse(text).unwrap();
        assert_eq!(config.targets().collect::<Vec<_>>(), ["large", "small"]);
        let (small, large) = (config.profile("small").unwrap(), config.profile("large").unwrap());
        assert_eq!(small.aspects, Aspects::GENERIC_POINTER);
        assert_eq!(large.aspects, Aspects::GENERIC_POINTER | Aspects::FP64);
        assert_eq!((&small.sub_group_sizes[..], small.max_work_group_size), (&[8][..], 64));
        assert_eq!((&large.sub_group_sizes[..], large.max_work_group_size), (&[16, 32][..], 64));
        let text = config.profile("tiny").unwrap_err().to_string();
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
