//! Property sets as typed values: device globals, specialization constants and requirements of an
//! image.

use crate::container::{scalar_number, scalar_of_number};
use crate::{
    Aspects, DEVICE_GLOBAL_ADDRESSES, DEVICE_GLOBAL_HOST_ACCESS, DEVICE_GLOBAL_IMPLEMENT_IN_CSR,
    DEVICE_GLOBAL_INIT_MODE, DEVICE_GLOBAL_INITIALIZERS, DEVICE_GLOBALS, DEVICE_REQUIREMENTS,
    DeviceGlobalInfo, DeviceImage, HostAccess, ImageError, InitMode, InitialAddress, InitialValue,
    KernelSignature, PropertyValue, Requirements, Result, SIDES, SPEC_CONSTANTS, Side, SpecConstantInfo,
    WITHOUT_FP64,
};

const ASPECTS: &str = "aspects";
const SIDE: &str = "side";
const IMAGE: &str = "image";

impl DeviceImage {
    /// The signature of a kernel of this image.
    pub fn kernel(&self, name: &str) -> Option<&KernelSignature> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// The device globals of the image, sorted by unique id.
    ///
    /// # Errors
    /// [`ImageError::Property`] where a property has the wrong shape.
    pub fn device_globals(&self) -> Result<Vec<DeviceGlobalInfo>> {
        self.properties.set(DEVICE_GLOBALS).map(|(id, value)| self.device_global(id, value)).collect()
    }

    /// Adds a device global to the property sets, or replaces the one of the same id.
    pub fn insert_device_global(&mut self, global: &DeviceGlobalInfo) {
        let mut value = global.size_bytes.to_le_bytes().to_vec();
        value.push(global.device_image_scope.into());
        let sets = &mut self.properties;
        sets.insert(DEVICE_GLOBALS, &global.id, PropertyValue::Bytes(value));
        sets.remove(DEVICE_GLOBAL_INITIALIZERS, &global.id);
        let InitialValue { bytes, addresses } = &global.initial;
        if bytes.iter().any(|&byte| byte != 0) {
            sets.insert(DEVICE_GLOBAL_INITIALIZERS, &global.id, PropertyValue::Bytes(bytes.clone()));
        }
        sets.remove(DEVICE_GLOBAL_ADDRESSES, &global.id);
        if !addresses.is_empty() {
            let value = PropertyValue::Bytes(addresses_to_bytes(addresses));
            sets.insert(DEVICE_GLOBAL_ADDRESSES, &global.id, value);
        }
        sets.remove(DEVICE_GLOBAL_HOST_ACCESS, &global.id);
        if global.host_access != HostAccess::default() {
            let access = PropertyValue::U32(host_access_number(global.host_access));
            sets.insert(DEVICE_GLOBAL_HOST_ACCESS, &global.id, access);
        }
        for (set, value) in [
            (DEVICE_GLOBAL_INIT_MODE, global.init_mode.map(init_mode_number)),
            (DEVICE_GLOBAL_IMPLEMENT_IN_CSR, global.implement_in_csr.map(u32::from)),
        ] {
            match value {
                Some(value) => sets.insert(set, &global.id, PropertyValue::U32(value)),
                None => sets.remove(set, &global.id),
            }
        }
    }

    /// The side that the image is for; `None` for images that serve both.
    ///
    /// # Errors
    /// [`ImageError::Property`] where the property has the wrong shape.
    pub fn side(&self) -> Result<Option<Side>> {
        match self.properties.value(SIDES, SIDE) {
            None => Ok(None),
            Some(PropertyValue::U32(0)) => Ok(Some(Side::Device)),
            Some(PropertyValue::U32(1)) => Ok(Some(Side::Host)),
            Some(_) => Err(property(SIDES, SIDE, "the value is neither 0 nor 1".to_owned())),
        }
    }

    /// Notes which side the image is for.
    pub fn insert_side(&mut self, side: Side) {
        self.properties.insert(SIDES, SIDE, PropertyValue::U32(u32::from(side == Side::Host)));
    }

    /// The form of the image for devices without fp64: those of its kernels whose doubles come from
    /// literals and from arguments of `printf`. `None` for images without such kernels.
    ///
    /// # Errors
    /// [`ImageError::Property`] where the property has the wrong shape; as
    /// [`DeviceImage::from_bytes`].
    pub fn without_fp64(&self) -> Result<Option<Self>> {
        let Some(value) = self.properties.value(WITHOUT_FP64, IMAGE) else { return Ok(None) };
        let form = Self::from_bytes(bytes(WITHOUT_FP64, IMAGE, value)?)?;
        match form.properties.value(WITHOUT_FP64, IMAGE) {
            None => Ok(Some(form)),
            Some(_) => Err(property(WITHOUT_FP64, IMAGE, "the form has such a form itself".to_owned())),
        }
    }

    /// Adds the form for devices without fp64, or replaces it.
    pub fn insert_without_fp64(&mut self, form: &Self) {
        self.properties.insert(WITHOUT_FP64, IMAGE, PropertyValue::Bytes(form.to_bytes()));
    }

    /// The specialization constants of the image, sorted by name.
    ///
    /// # Errors
    /// [`ImageError::Property`] where a property has the wrong shape.
    pub fn spec_constants(&self) -> Result<Vec<SpecConstantInfo>> {
        self.properties.set(SPEC_CONSTANTS).map(|(name, value)| spec_constant(name, value)).collect()
    }

    /// Adds a specialization constant to the property sets, or replaces the one of the same name.
    pub fn insert_spec_constant(&mut self, constant: &SpecConstantInfo) {
        let mut value = constant.id.to_le_bytes().to_vec();
        value.extend(u32::from(scalar_number(constant.ty)).to_le_bytes());
        value.extend(&constant.default);
        self.properties.insert(SPEC_CONSTANTS, &constant.name, PropertyValue::Bytes(value));
    }

    /// What the image as a whole needs of a device.
    ///
    /// # Errors
    /// [`ImageError::Property`] where the property has the wrong shape, or names an aspect that
    /// this library does not know.
    pub fn requirements(&self) -> Result<Requirements> {
        let Some(value) = self.properties.value(DEVICE_REQUIREMENTS, ASPECTS) else {
            return Ok(Requirements::default());
        };
        let wrong = |what: String| property(DEVICE_REQUIREMENTS, ASPECTS, what);
        let text = std::str::from_utf8(bytes(DEVICE_REQUIREMENTS, ASPECTS, value)?)
            .map_err(|_| wrong("the names are not UTF-8".to_owned()))?;
        let mut aspects = Aspects::empty();
        for name in text.split(',').filter(|name| !name.is_empty()) {
            aspects |= Aspects::from_aspect_name(name)
                .ok_or_else(|| wrong(format!("the aspect \"{name}\" is not known; use a newer library")))?;
        }
        Ok(Requirements { aspects })
    }

    /// Replaces the requirements of the image as a whole.
    pub fn set_requirements(&mut self, requirements: &Requirements) {
        let names: Vec<&str> = requirements.aspects.names().collect();
        self.properties.insert(DEVICE_REQUIREMENTS, ASPECTS, PropertyValue::Bytes(names.join(",").into()));
    }

    /// Writes the requirements of the image and of its kernels, from the kernels' signatures.
    pub(crate) fn insert_requirements(&mut self) {
        let aspects = self.kernels.iter().fold(Aspects::empty(), |all, kernel| all | kernel.aspects);
        self.set_requirements(&Requirements { aspects });
        for kernel in &self.kernels {
            if let Some(size) = kernel.required_work_group_size {
                let value = PropertyValue::Bytes(size.iter().flat_map(|n| n.to_le_bytes()).collect());
                self.properties.insert(
                    DEVICE_REQUIREMENTS,
                    &format!("reqd_work_group_size@{}", kernel.name),
                    value,
                );
            }
            if let Some(size) = kernel.required_sub_group_size {
                let name = format!("reqd_sub_group_size@{}", kernel.name);
                self.properties.insert(DEVICE_REQUIREMENTS, &name, PropertyValue::U32(size));
            }
        }
    }

    fn device_global(&self, id: &str, value: &PropertyValue) -> Result<DeviceGlobalInfo> {
        let wrong = |what: String| property(DEVICE_GLOBALS, id, what);
        let &[a, b, c, d, scope] = bytes(DEVICE_GLOBALS, id, value)? else {
            return Err(wrong("the value is not {u32 size; u8 device_image_scope}".to_owned()));
        };
        let size_bytes = u32::from_le_bytes([a, b, c, d]);
        if scope > 1 {
            return Err(wrong(format!("device_image_scope is {scope}, which is neither 0 nor 1")));
        }
        let initial = match self.properties.value(DEVICE_GLOBAL_INITIALIZERS, id) {
            Some(value) => bytes(DEVICE_GLOBAL_INITIALIZERS, id, value)?.to_vec(),
            None => Vec::new(),
        };
        if !initial.is_empty() && initial.len() as u64 != u64::from(size_bytes) {
            let what = format!("{} initial bytes for a variable of {size_bytes}", initial.len());
            return Err(property(DEVICE_GLOBAL_INITIALIZERS, id, what));
        }
        let addresses = match self.properties.value(DEVICE_GLOBAL_ADDRESSES, id) {
            Some(value) => addresses_of_bytes(bytes(DEVICE_GLOBAL_ADDRESSES, id, value)?, size_bytes)
                .map_err(|what| property(DEVICE_GLOBAL_ADDRESSES, id, what))?,
            None => Vec::new(),
        };
        let number = |set| match self.properties.value(set, id) {
            None => Ok(None),
            Some(PropertyValue::U32(number)) => Ok(Some(*number)),
            Some(PropertyValue::Bytes(_)) => Err(property(set, id, "bytes where a u32 is wanted".to_owned())),
        };
        let unknown = |set, number| property(set, id, format!("the value {number} is not in the format"));
        let host_access = match number(DEVICE_GLOBAL_HOST_ACCESS)? {
            None => HostAccess::default(),
            Some(n) => host_access_of_number(n).ok_or_else(|| unknown(DEVICE_GLOBAL_HOST_ACCESS, n))?,
        };
        let init_mode = match number(DEVICE_GLOBAL_INIT_MODE)? {
            None => None,
            Some(0) => Some(InitMode::Reprogram),
            Some(1) => Some(InitMode::Reset),
            Some(n) => return Err(unknown(DEVICE_GLOBAL_INIT_MODE, n)),
        };
        let implement_in_csr = match number(DEVICE_GLOBAL_IMPLEMENT_IN_CSR)? {
            None => None,
            Some(n @ (0 | 1)) => Some(n == 1),
            Some(n) => return Err(unknown(DEVICE_GLOBAL_IMPLEMENT_IN_CSR, n)),
        };
        Ok(DeviceGlobalInfo {
            id: id.to_owned(),
            size_bytes,
            device_image_scope: scope == 1,
            host_access,
            init_mode,
            implement_in_csr,
            initial: InitialValue { bytes: initial, addresses },
        })
    }
}

fn addresses_to_bytes(addresses: &[InitialAddress]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for InitialAddress { offset_bytes, target, addend_bytes } in addresses {
        bytes.extend(offset_bytes.to_le_bytes());
        bytes.extend(addend_bytes.to_le_bytes());
        bytes.extend((target.len() as u32).to_le_bytes());
        bytes.extend(target.as_bytes());
    }
    bytes
}

fn addresses_of_bytes(mut bytes: &[u8], size_bytes: u32) -> Result<Vec<InitialAddress>, String> {
    let mut addresses = Vec::new();
    while !bytes.is_empty() {
        let ends = || "an entry is cut off".to_owned();
        let (offset, rest) = bytes.split_first_chunk::<4>().ok_or_else(ends)?;
        let (addend, rest) = rest.split_first_chunk::<8>().ok_or_else(ends)?;
        let (length, rest) = rest.split_first_chunk::<4>().ok_or_else(ends)?;
        let (target, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(ends)?;
        let offset_bytes = u32::from_le_bytes(*offset);
        if offset_bytes.checked_add(4).is_none_or(|end| end > size_bytes) {
            return Err(format!("an address at byte {offset_bytes} of a variable of {size_bytes}"));
        }
        let target = String::from_utf8(target.to_vec()).map_err(|_| "a name is not UTF-8".to_owned())?;
        addresses.push(InitialAddress { offset_bytes, target, addend_bytes: i64::from_le_bytes(*addend) });
        bytes = rest;
    }
    Ok(addresses)
}

fn spec_constant(name: &str, value: &PropertyValue) -> Result<SpecConstantInfo> {
    let wrong = |what: String| property(SPEC_CONSTANTS, name, what);
    let bytes = bytes(SPEC_CONSTANTS, name, value)?;
    let (head, default) = bytes
        .split_at_checked(8)
        .ok_or_else(|| wrong("the value is not {u32 id; u32 scalar; default bytes}".to_owned()))?;
    let word = |i: usize| head.get(i..i + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes);
    let ty =
        scalar_of_number(word(4)).ok_or_else(|| wrong(format!("scalar {} is not in the format", word(4))))?;
    if default.len() as u64 != u64::from(ty.size_bytes()) {
        return Err(wrong(format!("{} default bytes for a {}", default.len(), ty.opencl_name())));
    }
    Ok(SpecConstantInfo { id: word(0), name: name.to_owned(), ty, default: default.to_vec() })
}

/// Values of the Trigger operand of `InitModeINTEL` (SPV_INTEL_global_variable_fpga_decorations).
pub(crate) const fn init_mode_number(mode: InitMode) -> u32 {
    match mode {
        InitMode::Reprogram => 0,
        InitMode::Reset => 1,
    }
}

/// Values of the Access operand of `HostAccessINTEL` (SPV_INTEL_global_variable_host_access).
pub(crate) const fn host_access_number(access: HostAccess) -> u32 {
    match access {
        HostAccess::None => 0,
        HostAccess::Read => 1,
        HostAccess::Write => 2,
        HostAccess::ReadWrite => 3,
    }
}

const fn host_access_of_number(number: u32) -> Option<HostAccess> {
    Some(match number {
        0 => HostAccess::None,
        1 => HostAccess::Read,
        2 => HostAccess::Write,
        3 => HostAccess::ReadWrite,
        _ => return None,
    })
}

fn bytes<'p>(set: &str, name: &str, value: &'p PropertyValue) -> Result<&'p [u8]> {
    match value {
        PropertyValue::Bytes(bytes) => Ok(bytes),
        PropertyValue::U32(_) => Err(property(set, name, "a u32 where bytes are wanted".to_owned())),
    }
}

fn property(set: &str, property: &str, what: String) -> ImageError {
    ImageError::Property { set: set.to_owned(), property: property.to_owned(), what }
}
