//! Memory of `cl_khr_unified_svm`. Commands on it are those of SVM; it is allocated and freed in another way.

use std::ffi::c_void;
use std::ptr::NonNull;

use super::not_of_the_kind;
use crate::MakeError as _;
use crate::ext::unified_svm::UnifiedSvm;
use crate::facts::unified_svm::{SvmCapabilities, SvmTypes};
use crate::sys::*;
use crate::usm::Kind;
use crate::{Api, Device, Error, ErrorKind, Result, UnifiedSvmSupport, info};

/// The functions and types of memory for the devices of a context.
#[derive(Clone, Copy)]
pub(super) struct Unified {
    pub(super) api: &'static Api,
    extension: &'static UnifiedSvm,
    pub(super) types: SvmTypes,
    /// The only device of the context; null if there are several.
    only_device: cl_device_id,
}

impl Unified {
    /// `None` where one of the devices lacks the extension.
    pub(super) fn of(devices: &[Device]) -> Option<Self> {
        let first = devices.first()?;
        let several = devices.len() > 1;
        let each = devices.iter().map(|device| device.capabilities().unified_svm.as_ref());
        let common = UnifiedSvmSupport::in_common(each)?;
        Some(Self {
            api: first.api(),
            extension: &first.tables().unified_svm,
            types: SvmTypes::choose(&common, several),
            only_device: if several { std::ptr::null_mut() } else { first.id() },
        })
    }

    /// Memory of a kind, and how many bytes behind the start of its allocation it begins.
    ///
    /// # Safety
    /// The context is alive and has the device, which is null for memory of all devices.
    pub(super) unsafe fn allocate(
        &self,
        context: cl_context,
        device: cl_device_id,
        kind: Kind,
        size_bytes: usize,
        alignment: u32,
    ) -> Result<Option<(NonNull<c_void>, usize)>> {
        let Some(svm_type) = self.types.of(kind) else {
            return Err(Error::new(ErrorKind::FeatureNotSupported, "no type of memory serves this kind"));
        };
        let is_free = svm_type.capabilities.contains(SvmCapabilities::DEVICE_UNASSOCIATED);
        let device = if device.is_null() && !is_free { self.only_device } else { device };
        let mut properties = [CL_SVM_ALLOC_ASSOCIATED_DEVICE_HANDLE_KHR, device.addr() as u64, 0];
        if device.is_null() {
            properties[0] = 0;
        }
        // The extension has no alignments above that of OpenCL's largest type, which is the default. What is
        // more is made by leaving bytes out.
        let alignment = alignment as usize;
        let room = size_bytes.saturating_add(alignment);
        let (list, index) = (properties.as_ptr(), svm_type.index);
        // SAFETY: the caller's promise; the list ends in 0.
        let base = unsafe { self.extension.clSVMAllocWithPropertiesKHR(context, list, index, room) }?;
        Ok(NonNull::new(base).map(|base| {
            let offset_bytes = base.addr().get().next_multiple_of(alignment.max(1)) - base.addr().get();
            // SAFETY: the allocation has more bytes than the offset.
            (unsafe { base.byte_add(offset_bytes) }, offset_bytes)
        }))
    }

    /// Frees memory that begins `offset_bytes` behind the start of its allocation.
    ///
    /// # Safety
    /// It is of the context, and neither a command nor the host uses it any more.
    pub(super) unsafe fn free(
        &self,
        context: cl_context,
        start: NonNull<c_void>,
        offset_bytes: usize,
    ) -> Result<()> {
        let none = std::ptr::null();
        // SAFETY: the caller's promise; the allocation begins there.
        unsafe {
            let base = start.byte_sub(offset_bytes).as_ptr();
            self.extension.clSVMFreeWithPropertiesKHR(context, none, 0, base)
        }
    }

    /// Checks memory from outside, and finds its device, if it is associated with one.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] when it is of another context, or cannot serve as this kind.
    pub(super) fn check_outside(
        &self,
        context: cl_context,
        kind: Kind,
        start: NonNull<c_void>,
    ) -> Result<Option<cl_device_id>> {
        let ask = |name, size, value: *mut c_void, ret| {
            let (any, pointer) = (std::ptr::null_mut(), start.as_ptr());
            // SAFETY: the context is alive, the pointer is only looked up; `value` has room for `size`
            // bytes.
            unsafe { self.extension.clGetSVMPointerInfoKHR(context, any, pointer, name, size, value, ret) }
        };
        let found: u64 = info::value(|size, value, ret| ask(CL_SVM_INFO_CAPABILITIES_KHR, size, value, ret))?;
        if !SvmCapabilities::from_bits_retain(found).serves(kind, self.types.mapped) {
            return Err(not_of_the_kind());
        }
        let name = CL_SVM_INFO_ASSOCIATED_DEVICE_HANDLE_KHR;
        let device: cl_device_id = info::value(|size, value, ret| ask(name, size, value, ret))?;
        Ok((!device.is_null()).then_some(device))
    }
}
