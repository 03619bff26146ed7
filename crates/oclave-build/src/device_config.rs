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
//!
//! [targets.workstation]
//! like = "nvidia"                  # the target that every file has: see DeviceConfig::nvidia
//! ptx = ["sm_80", "sm_90"]         # instead of sm_70, which all devices since 2017 run
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use oclave_image::{Aspects, DeviceImage, DeviceProfile, Side, passes};
use oclave_ptx::{PtxError, PtxTarget};
use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

/// The targets of a device configuration file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceConfig {
    targets: BTreeMap<String, Of>,
}

/// A target: what the choice of images looks at, and the compute capabilities that images hold PTX
/// for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Of {
    profile: DeviceProfile,
    ptx: Vec<PtxTarget>,
}

/// The target that is there without being written.
const NVIDIA: &str = "nvidia";
/// Its PTX, which every device runs that has PTX of ours.
const OLDEST_PTX: &str = "sm_70";

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
    ptx: Option<Vec<String>>,
}

impl DeviceConfig {
    /// A configuration with the one target `nvidia`: NVIDIA's devices, as kernels in PTX see them.
    /// Its images hold PTX for these compute capabilities; without one, for 7.0, which all newer
    /// devices run as well.
    ///
    /// Files that define no target of this name have it, too.
    pub fn nvidia(capabilities: &[PtxTarget]) -> Self {
        let mut nvidia = nvidia();
        if !capabilities.is_empty() {
            nvidia.ptx = capabilities.to_vec();
        }
        Self { targets: BTreeMap::from([(NVIDIA.to_owned(), nvidia)]) }
    }

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
    /// [`ErrorKind::Config`] for what is not TOML of this form, unknown aspects, and targets that
    /// are like each other.
    pub fn parse(text: &str) -> Result<Self> {
        let file: File = toml::from_str(text)
            .map_err(|error| Error::config(format!("no device configuration: {error}")))?;
        let mut targets = BTreeMap::from([(NVIDIA.to_owned(), nvidia())]);
        for name in file.targets.keys() {
            targets.insert(name.clone(), read_target(&file, name)?);
        }
        Ok(Self { targets })
    }

    /// What is known of a target.
    ///
    /// # Errors
    /// [`ErrorKind::Config`], with the targets that there are.
    pub fn profile(&self, target: &str) -> Result<&DeviceProfile> {
        Ok(&self.target(target)?.profile)
    }

    fn target(&self, target: &str) -> Result<&Of> {
        self.targets.get(target).ok_or_else(|| {
            let names: Vec<&str> = self.targets.keys().map(String::as_str).collect();
            Error::config(format!("there is no target `{target}`: there is `{}`", names.join("`, `")))
        })
    }

    /// The names of the targets, sorted.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.targets.keys().map(String::as_str)
    }

    /// Links the images of one program that at least one of the targets can run
    /// ([`passes::ahead_of_time`]).
    ///
    /// A target runs an image as a device or in the role of the host. `virtual_call_checks` says
    /// whether invalid virtual calls are reported. Images of targets with `ptx` hold their PTX, and
    /// the functions of the library that it needs.
    ///
    /// # Errors
    /// [`ErrorKind::Config`] for an unknown target, and when none of them runs any kernel;
    /// [`ErrorKind::PostLink`] for what cannot be linked or has no PTX; [`ErrorKind::Toolchain`]
    /// where the library of built-in functions is needed and not installed.
    pub fn images_for(
        &self,
        targets: &[String],
        images: &[DeviceImage],
        virtual_call_checks: bool,
    ) -> Result<Vec<DeviceImage>> {
        // Images as they were linked, and as they are with their PTX.
        let mut chosen: Vec<(DeviceImage, DeviceImage)> = Vec::new();
        for (target, side) in
            targets.iter().flat_map(|target| [Side::Device, Side::Host].map(|side| (target, side)))
        {
            let Of { profile, ptx } = self.target(target)?;
            let device = DeviceProfile { side, ..profile.clone() };
            let of_target = passes::ahead_of_time(images, &device, virtual_call_checks).map_err(|error| {
                Error::new(ErrorKind::PostLink, format!("ahead of time for target `{target}`"))
                    .with_source(error)
            })?;
            for image in of_target {
                if !chosen.iter().any(|(linked, _)| *linked == image) {
                    chosen.push((image.clone(), image.clone()));
                }
                for (_, made) in chosen.iter_mut().filter(|(linked, _)| *linked == image) {
                    for capability in ptx {
                        let place = format!("ahead of time for target `{target}`: image `{}`", image.name);
                        oclave_ptx::add_ptx(made, capability).map_err(|error| no_ptx(&place, error))?;
                    }
                }
            }
        }
        // A device without fp64 finds the form in the image that it belongs to.
        let forms: Vec<DeviceImage> =
            chosen.iter().filter_map(|(linked, _)| linked.without_fp64().ok().flatten()).collect();
        chosen.retain(|(linked, _)| !forms.contains(linked));
        if chosen.is_empty() {
            let names = targets.join("`, `");
            return Err(Error::config(format!(
                "no kernel of the program runs on one of the targets `{names}`"
            )));
        }
        Ok(chosen.into_iter().map(|(_, made)| made).collect())
    }
}

/// Why an image has no PTX, or not what PTX needs.
pub(crate) fn no_ptx(place: &str, error: PtxError) -> Error {
    let kind = match error {
        PtxError::Library(_) => ErrorKind::Toolchain,
        _ => ErrorKind::PostLink,
    };
    Error::new(kind, place).with_source(error)
}

fn nvidia() -> Of {
    Of { profile: oclave_ptx::nvidia_profile(), ptx: OLDEST_PTX.parse().into_iter().collect() }
}

/// A target with what it takes from those that it is like.
fn read_target(file: &File, name: &str) -> Result<Of> {
    let mut profile = DeviceProfile { name: name.to_owned(), ..DeviceProfile::default() };
    let (mut sub_group_sizes, mut max_work_group_size, mut ptx) = (None, None, None);
    let mut built_in = None;
    let mut seen = BTreeSet::new();
    let mut next = Some(name);
    while let Some(current) = next {
        if !seen.insert(current) {
            return Err(Error::config(format!("target `{name}` is like itself, by way of `{current}`")));
        }
        if current == NVIDIA && !file.targets.contains_key(NVIDIA) {
            let Of { profile: of_nvidia, ptx } = nvidia();
            profile.aspects |= of_nvidia.aspects;
            profile.max_work_item_sizes = of_nvidia.max_work_item_sizes;
            built_in = Some((of_nvidia, ptx));
            break;
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
        ptx = ptx.or(target.ptx.as_ref());
        next = target.like.as_deref();
    }
    let (of_nvidia, of_nvidia_ptx) = built_in.unwrap_or_default();
    profile.sub_group_sizes = sub_group_sizes.cloned().unwrap_or(of_nvidia.sub_group_sizes);
    profile.max_work_group_size = max_work_group_size.unwrap_or(of_nvidia.max_work_group_size);
    let ptx = match ptx {
        None => of_nvidia_ptx,
        Some(names) => names
            .iter()
            .map(|capability| capability.parse())
            .collect::<Result<_, String>>()
            .map_err(|error| Error::config(format!("target `{name}`: {error}")))?,
    };
    Ok(Of { profile, ptx })
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
        assert_eq!(config.targets().collect::<Vec<_>>(), ["large", "nvidia", "small"]);
        let (small, large) = (config.profile("small").unwrap(), config.profile("large").unwrap());
        assert_eq!(small.aspects, Aspects::GENERIC_POINTER);
        assert_eq!(large.aspects, Aspects::GENERIC_POINTER | Aspects::FP64);
        assert_eq!((&small.sub_group_sizes[..], small.max_work_group_size), (&[8][..], 64));
        assert_eq!((&large.sub_group_sizes[..], large.max_work_group_size), (&[16, 32][..], 64));
        let text = config.profile("tiny").unwrap_err().to_string();
        assert!(text.contains("`large`, `nvidia`, `small`"), "{text}");
    }

    #[test]
    fn every_file_has_the_target_nvidia_and_may_refine_it() {
        let text =
            "[targets.desk]\nlike = \"nvidia\"\nptx = [\"sm_80\", \"sm_90\"]\nmax_work_group_size = 256\n";
        let config = DeviceConfig::parse(text).unwrap();
        let (desk, nvidia) = (config.target("desk").unwrap(), config.target("nvidia").unwrap());
        assert_eq!(desk.profile.aspects, nvidia.profile.aspects);
        let aspects = desk.profile.aspects;
        assert!(
            aspects.contains(Aspects::FP64 | Aspects::IMAGE) && !aspects.contains(Aspects::IMAGE_READ_WRITE)
        );
        assert_eq!((&desk.profile.sub_group_sizes[..], desk.profile.max_work_group_size), (&[32][..], 256));
        let names = |of: &Of| of.ptx.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            (names(nvidia), names(desk)),
            (vec!["sm_70".to_owned()], vec!["sm_80".into(), "sm_90".into()])
        );
        let given = DeviceConfig::nvidia(&["sm_90".parse().unwrap()]);
        assert_eq!(names(given.target("nvidia").unwrap()), ["sm_90"]);
        // A file's own target of this name counts.
        let own = DeviceConfig::parse("[targets.nvidia]\naspects = [\"fp64\"]\n").unwrap();
        let own = own.target("nvidia").unwrap();
        assert_eq!((own.profile.aspects, own.ptx.len()), (Aspects::FP64, 0));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("[targets.a]\naspects = [\"fp65\"]", "`fp65`"),
            ("[targets.a]\nlike = \"b\"", "`b`"),
            ("[targets.a]\nlike = \"b\"\n[targets.b]\nlike = \"a\"", "like itself"),
            ("[targets.a]\naspect = []", "aspect"),
            ("[targets.a]\nptx = [\"sm_50\"]", "7.0"),
            ("targets = 3", "targets"),
            ("[", "no device configuration"),
        ] {
            let error = DeviceConfig::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{part} in {error}");
        }
    }

    proptest::proptest! {
        // The number of cases is `PROPTEST_CASES`, as `ci/sweep fuzz` sets it.
        #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

        /// Changed files are read or refused, and what was read can be asked.
        #[test]
        fn changed_files(
            changes in proptest::collection::vec((proptest::prelude::any::<proptest::sample::Index>(), 0..128_u8), 1..5),
        ) {
            let mut bytes = b"[targets.a]\naspects = [\"fp64\"]\nsub_group_sizes = [8]\nmax_work_group_size = 64\n\
                [targets.b]\nlike = \"a\"\nptx = [\"sm_80\"]\n[targets.c]\nlike = \"b\"\n".to_vec();
            for (at, value) in changes {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Ok(config) = DeviceConfig::parse(&String::from_utf8(bytes).unwrap()) {
                for target in config.targets() {
                    config.profile(target).unwrap();
                }
            }
        }
    }
}
