//! Which kernels a device can run, by what images say of them.

use crate::{Aspects, DeviceImage, KernelSignature, Result, Side};

/// What an image as a whole asks of a device: the driver compiles all of it, whatever the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// The image's own aspects and those of its kernels.
    pub aspects: Aspects,
    /// The side that it was made for; `None` for both.
    pub side: Option<Side>,
}

impl Needs {
    /// Whether the image may run on this side.
    pub fn serves(self, side: Side) -> bool {
        self.side.is_none_or(|own| own == side)
    }
}

/// What the choice of images looks at on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceProfile {
    /// What messages call it.
    pub name: String,
    /// Whether it takes what is for devices, or serves as the host.
    pub side: Side,
    /// The optional features that it has.
    pub aspects: Aspects,
    /// Work-items in a work-group, at most.
    pub max_work_group_size: usize,
    /// Work-items in each dimension of a work-group, at most.
    pub max_work_item_sizes: [usize; 3],
    /// Sizes that sub-groups can have; empty where that is not known, and any size passes.
    pub sub_group_sizes: Vec<usize>,
}

impl Default for DeviceProfile {
    /// A device without optional features, and without known limits.
    fn default() -> Self {
        Self {
            name: String::new(),
            side: Side::Device,
            aspects: Aspects::empty(),
            max_work_group_size: usize::MAX,
            max_work_item_sizes: [usize::MAX; 3],
            sub_group_sizes: Vec::new(),
        }
    }
}

impl DeviceProfile {
    /// Why the device cannot run an image, whatever the kernel: "needs fp64"; `None` when it can.
    pub fn misfit(&self, image: Needs) -> Option<String> {
        if !image.serves(self.side) {
            let what = match self.side {
                Side::Device => "has the bodies of if_host, for `Device::as_host`",
                Side::Host => "has the bodies of if_device, not for `Device::as_host`",
            };
            return Some(what.to_owned());
        }
        let missing = image.aspects - self.aspects;
        (!missing.is_empty()).then(|| format!("needs {missing}"))
    }

    /// Why the device cannot run a kernel of an image; `None` when it can.
    pub fn refusal(&self, image: Needs, kernel: &KernelSignature) -> Option<String> {
        self.misfit(image)
            .or_else(|| self.refuses_sub_group(kernel))
            .or_else(|| self.refuses_work_group(kernel))
    }

    /// Whether the device can run one of the kernels of an image.
    ///
    /// # Errors
    /// As [`DeviceImage::needs`].
    pub fn runs(&self, image: &DeviceImage) -> Result<bool> {
        let needs = image.needs()?;
        Ok(match image.kernels.as_slice() {
            [] => self.misfit(needs).is_none(),
            kernels => kernels.iter().any(|kernel| self.refusal(needs, kernel).is_none()),
        })
    }

    fn refuses_sub_group(&self, kernel: &KernelSignature) -> Option<String> {
        let required = kernel.required_sub_group_size?;
        let fits = |size: &usize| u32::try_from(*size) == Ok(required);
        if self.sub_group_sizes.is_empty() || self.sub_group_sizes.iter().any(fits) {
            return None;
        }
        let sizes: Vec<String> = self.sub_group_sizes.iter().map(ToString::to_string).collect();
        Some(format!("requires sub-groups of {required} work-items, the device has {}", sizes.join(", ")))
    }

    fn refuses_work_group(&self, kernel: &KernelSignature) -> Option<String> {
        let [x, y, z] = kernel.required_work_group_size?;
        let size = [x, y, z].map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let items = size.iter().fold(1usize, |all, n| all.saturating_mul(*n));
        let limit = if items > self.max_work_group_size {
            format!("limit is {} in all", self.max_work_group_size)
        } else if size.iter().zip(self.max_work_item_sizes).any(|(n, limit)| *n > limit) {
            let [a, b, c] = self.max_work_item_sizes;
            format!("limits are {a} × {b} × {c}")
        } else {
            return None;
        };
        Some(format!("requires work-groups of {x} × {y} × {z} work-items, the device's {limit}"))
    }
}

impl DeviceImage {
    /// What the image as a whole asks of a device.
    ///
    /// # Errors
    /// [`ImageError::Property`](crate::ImageError::Property) for requirements of the wrong shape.
    pub fn needs(&self) -> Result<Needs> {
        let of_kernels = self.kernels.iter().fold(Aspects::empty(), |all, kernel| all | kernel.aspects);
        Ok(Needs { aspects: self.requirements()?.aspects | of_kernels, side: self.side()? })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn device() -> DeviceProfile {
        DeviceProfile {
            name: "toy".to_owned(),
            side: Side::Device,
            aspects: Aspects::FP16,
            max_work_group_size: 64,
            max_work_item_sizes: [64, 64, 2],
            sub_group_sizes: vec![8, 16],
        }
    }

    fn kernel() -> KernelSignature {
        KernelSignature {
            name: "k".to_owned(),
            parameters: Vec::new(),
            required_work_group_size: None,
            uniform_work_groups: false,
            required_sub_group_size: None,
            aspects: Aspects::empty(),
            device_globals: Vec::new(),
        }
    }

    #[test]
    fn a_required_sub_group_must_be_there() {
        for (size, fits) in [(8, true), (16, true), (32, false)] {
            let kernel = KernelSignature { required_sub_group_size: Some(size), ..kernel() };
            let refusal = device().refusal(Needs::default(), &kernel);
            assert_eq!(refusal.is_none(), fits, "{size}");
            assert!(fits || refusal.unwrap().contains("sub-groups of 32 work-items, the device has 8, 16"));
            assert_eq!(DeviceProfile::default().refusal(Needs::default(), &kernel), None, "not known");
        }
    }

    #[test]
    fn a_required_work_group_must_fit() {
        for (size, limit) in [
            ([8, 8, 1], None),
            ([8, 8, 2], Some("64 in all")),
            ([1, 1, 3], Some("64 × 64 × 2")),
            ([u32::MAX; 3], Some("64 in all")),
        ] {
            let kernel = KernelSignature { required_work_group_size: Some(size), ..kernel() };
            match (device().refusal(Needs::default(), &kernel), limit) {
                (None, None) => {}
                (Some(refusal), Some(limit)) => assert!(refusal.ends_with(limit), "{refusal}"),
                (refusal, _) => panic!("{size:?}: {refusal:?}"),
            }
        }
    }

    #[test]
    fn an_image_runs_where_one_of_its_kernels_does() {
        let wide = KernelSignature { required_sub_group_size: Some(32), ..kernel() };
        let mut image = DeviceImage { kernels: vec![wide.clone()], ..DeviceImage::default() };
        assert!(!device().runs(&image).unwrap());
        image.kernels.push(kernel());
        assert!(device().runs(&image).unwrap());
        image.kernels.push(KernelSignature { aspects: Aspects::FP64, ..kernel() });
        assert!(!device().runs(&image).unwrap(), "the driver would compile all of it");
        assert_eq!(device().misfit(image.needs().unwrap()).unwrap(), "needs fp64");
        let mut image = DeviceImage { kernels: vec![kernel()], ..DeviceImage::default() };
        image.insert_side(Side::Host);
        assert!(!device().runs(&image).unwrap(), "it is for the host");
    }
}
