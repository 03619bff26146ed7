//! Recognises drivers by the texts that they report.

use std::fmt;

/// A version of a driver: major and minor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The drivers whose faults are in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// Intel's CPU runtime.
    IntelCpu,
    /// PoCL.
    Pocl,
    /// Mesa's rusticl.
    Rusticl,
    /// NVIDIA's driver for GPUs.
    Nvidia,
}

impl Family {
    /// The newest version on which the table was checked.
    #[must_use]
    pub const fn newest_seen(self) -> Version {
        match self {
            Self::IntelCpu => Version(2026, 22),
            Self::Pocl => Version(7, 1),
            Self::Rusticl => Version(26, 1),
            Self::Nvidia => Version(580, 159),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IntelCpu => "Intel's CPU runtime",
            Self::Pocl => "PoCL",
            Self::Rusticl => "rusticl",
            Self::Nvidia => "NVIDIA",
        })
    }
}

/// Texts by which a driver is recognised, as OpenCL returns them.
#[derive(Debug, Clone, Copy)]
pub struct DeviceTexts<'a> {
    /// `CL_PLATFORM_NAME`.
    pub platform: &'a str,
    /// `CL_PLATFORM_VENDOR`.
    pub vendor: &'a str,
    /// `CL_DRIVER_VERSION`.
    pub driver_version: &'a str,
    /// `CL_DEVICE_NAME`.
    pub device: &'a str,
    /// Whether `CL_DEVICE_TYPE` has `CL_DEVICE_TYPE_CPU`.
    pub is_cpu: bool,
    /// Whether `CL_DEVICE_TYPE` has `CL_DEVICE_TYPE_GPU`.
    pub is_gpu: bool,
}

/// A driver of the table, with its version and the kind of its device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Driver {
    /// The driver.
    pub family: Family,
    /// Its version; [`Family::newest_seen`] where its text has none.
    pub version: Version,
    /// Whether kernels run on the host's processor. rusticl's llvmpipe is such a device.
    pub is_cpu: bool,
}

impl Driver {
    /// Recognises a driver; `None` for those that the table does not know.
    #[must_use]
    pub fn of(texts: &DeviceTexts<'_>) -> Option<Self> {
        let family = if texts.platform.contains("Portable Computing Language") {
            Family::Pocl
        } else if texts.platform.contains("rusticl") {
            Family::Rusticl
        } else if texts.platform == "NVIDIA CUDA" && texts.is_gpu {
            Family::Nvidia
        } else if texts.is_cpu && texts.vendor.contains("Intel") {
            Family::IntelCpu
        } else {
            return None;
        };
        let version = version(texts.driver_version).unwrap_or(family.newest_seen());
        let is_cpu = match family {
            Family::Rusticl => texts.device.contains("llvmpipe"),
            _ => texts.is_cpu,
        };
        Some(Self { family, version, is_cpu })
    }

    /// Whether the version is newer than the newest one on which the table was checked.
    #[must_use]
    pub fn is_newer_than_seen(&self) -> bool {
        self.version > self.family.newest_seen()
    }
}

impl fmt::Display for Driver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.family, self.version)
    }
}

/// The first two numbers of a text, with a dot between them.
fn version(text: &str) -> Option<Version> {
    let begin = text.find(|c: char| c.is_ascii_digit())?;
    let mut numbers = text[begin..].split(|c: char| !c.is_ascii_digit());
    let major = numbers.next()?.parse().ok()?;
    Some(Version(major, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}
