//! Choosing a device: `OCLAVE_DEVICE`, else the best that takes kernels.

use std::cmp::Reverse;

use super::device::{Device, DeviceKind};
use crate::MakeError as _;
use crate::{Error, ErrorKind, Result};

/// Environment variable that chooses the device.
pub(crate) const VARIABLE: &str = "OCLAVE_DEVICE";

/// The device that `OCLAVE_DEVICE` asks for.
#[derive(Debug, PartialEq, Eq)]
enum DeviceFilter {
    Best,
    Index(usize),
    /// A part of the platform's name, in lower case.
    Platform(&'static str),
    /// A part of the device's or platform's name, in lower case.
    Name(String),
}

impl DeviceFilter {
    fn parse(text: &str) -> Self {
        let text = text.trim().to_lowercase();
        match text.as_str() {
            "" => Self::Best,
            // The platform's name only: PoCL's device names contain the processor's, and with it
            // "intel".
            "intel" => Self::Platform("intel"),
            "pocl" => Self::Platform("portable computing language"),
            _ => text.parse().map_or(Self::Name(text), Self::Index),
        }
    }

    fn takes(&self, index: usize, platform: &str, device: &str) -> bool {
        let (platform, device) = (platform.to_lowercase(), device.to_lowercase());
        match self {
            Self::Best => true,
            Self::Index(wanted) => *wanted == index,
            Self::Platform(name) => platform.contains(name),
            Self::Name(name) => device.contains(name.as_str()) || platform.contains(name.as_str()),
        }
    }
}

impl Device {
    /// The device to use: what the environment variable `OCLAVE_DEVICE` asks for, else the best
    /// that takes SPIR-V or PTX.
    ///
    /// `OCLAVE_DEVICE` is `intel` or `pocl` (the driver), an index into [`Device::all`], or a part
    /// of the device's or the driver's name. Where it fits several, the best of them is taken: GPUs
    /// before accelerators before CPUs. Devices with memory that kernels address by pointers come
    /// first, and of those the devices with USM.
    ///
    /// # Errors
    /// [`ErrorKind::Platform`] when nothing is installed, [`ErrorKind::Invalid`] when no device
    /// fits the wish, and [`ErrorKind::FeatureNotSupported`] when none that fits takes SPIR-V or
    /// PTX. The messages list what there is.
    pub fn select() -> Result<Self> {
        let wish = std::env::var_os(VARIABLE).unwrap_or_default();
        Self::choose(&Self::all()?, &wish.to_string_lossy()).map_err(|error| match error.kind() {
            ErrorKind::Invalid => error.at(VARIABLE),
            _ => error,
        })
    }

    /// As [`Device::select`], with the wish as an argument instead of `OCLAVE_DEVICE`; empty for
    /// the best.
    ///
    /// # Errors
    /// As [`Device::select`].
    pub fn select_by(wish: &str) -> Result<Self> {
        Self::choose(&Self::all()?, wish)
    }

    fn choose(devices: &[Self], wish: &str) -> Result<Self> {
        let parsed = DeviceFilter::parse(wish);
        let mut fitting: Vec<&Self> = devices
            .iter()
            .enumerate()
            .filter(|(index, device)| parsed.takes(*index, device.platform().name(), device.name()))
            .map(|(_, device)| device)
            .collect();
        // The sort is stable: among equals the driver's order counts.
        fitting.sort_by_key(|device| Reverse(rank(device)));
        match fitting.first() {
            Some(best) if best.capabilities().takes_kernels() => Ok((*best).clone()),
            Some(only) if fitting.len() == 1 => {
                let refusal = only.require_kernels().err();
                Err(refusal.unwrap_or_else(|| {
                    Error::new(ErrorKind::Runtime, "the device changed its mind about SPIR-V")
                }))
            }
            Some(_) => Err(Error::new(ErrorKind::FeatureNotSupported, "no device takes SPIR-V")
                .remedy(format!("{}; {}", names_of(devices), crate::loader::INSTALL_HINT))),
            None => {
                Err(Error::invalid(format!("no device fits `{}`", wish.trim())).remedy(names_of(devices)))
            }
        }
    }
}

/// Greater is better.
fn rank(device: &Device) -> impl Ord + use<> {
    let capabilities = device.capabilities();
    let kind = match capabilities.kind {
        DeviceKind::Gpu => 3,
        DeviceKind::Accelerator => 2,
        DeviceKind::Cpu => 1,
        DeviceKind::Other => 0,
    };
    (
        capabilities.takes_kernels() && capabilities.available,
        capabilities.memory().is_some_and(|memory| memory.device),
        capabilities.usm.is_some(),
        kind,
        capabilities.global_variable_access,
        capabilities.compute_units,
    )
}

/// "device 0 is `NAME` (PLATFORM), device 1 is …".
fn names_of(devices: &[Device]) -> String {
    let name = |(index, device): (usize, &Device)| {
        let spirv = if device.capabilities().takes_kernels() { "" } else { ", without SPIR-V" };
        format!("device {index} is `{}` ({}{spirv})", device.name(), device.platform().name())
    };
    devices.iter().enumerate().map(name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTEL: &str = "Intel(R) OpenCL";
    const POCL: &str = "Portable Computing Language";

    #[test]
    fn wishes_parse() {
        assert_eq!(DeviceFilter::parse(" "), DeviceFilter::Best);
        assert_eq!(DeviceFilter::parse("1"), DeviceFilter::Index(1));
        assert_eq!(DeviceFilter::parse("Intel"), DeviceFilter::Platform("intel"));
        assert_eq!(DeviceFilter::parse("-1"), DeviceFilter::Name("-1".into()));
        assert_eq!(DeviceFilter::parse("Xeon"), DeviceFilter::Name("xeon".into()));
    }

    #[test]
    fn intel_is_the_driver_not_the_processor() {
        let wish = DeviceFilter::parse("intel");
        assert!(wish.takes(0, INTEL, "Some CPU"));
        assert!(!wish.takes(0, POCL, "cpu-haswell-Intel(R) Xeon(R)"));
        assert!(DeviceFilter::parse("pocl").takes(3, POCL, "cpu"));
        assert!(DeviceFilter::parse("xeon").takes(0, POCL, "cpu-haswell-Intel(R) Xeon(R)"));
        assert!(!DeviceFilter::parse("2").takes(1, INTEL, "2"));
    }
}
