//! The `clGet…Info` calling pattern: ask for the size, then for the value.
//!
//! ```text
//! let name = info::string(|size, value, ret| unsafe { api.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, value, ret) })?;
//! ```

use std::ffi::c_void;

use crate::error::{Error, ErrorKind, Result};

/// Values that a driver may fill with any bytes.
///
/// # Safety
/// Every bit pattern is a valid value: integers and raw pointers (handles) only, or structs of these.
pub(crate) unsafe trait Plain: Copy {}
// SAFETY: an integer takes any bit pattern.
unsafe impl Plain for u8 {}
// SAFETY: an integer takes any bit pattern.
unsafe impl Plain for u32 {}
// SAFETY: an integer takes any bit pattern.
unsafe impl Plain for i32 {}
// SAFETY: an integer takes any bit pattern.
unsafe impl Plain for u64 {}
// SAFETY: an integer takes any bit pattern.
unsafe impl Plain for usize {}
// SAFETY: a raw pointer takes any bit pattern; only its use is unsafe.
unsafe impl<T> Plain for *mut T {}
// SAFETY: two arrays of integers.
unsafe impl Plain for crate::driver::sys::cl_name_version {}
// SAFETY: an array of values each of which takes any bit pattern.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// One value of a fixed size. A driver that answers with another size gives an error, as the value would be garbage.
pub(crate) fn value<T: Plain>(ask: impl FnOnce(usize, *mut c_void, *mut usize) -> Result<()>) -> Result<T> {
    let mut value = std::mem::MaybeUninit::<T>::zeroed();
    let mut size = size_of::<T>();
    ask(size_of::<T>(), value.as_mut_ptr().cast(), &mut size)?;
    if size != size_of::<T>() {
        return Err(Error::new(
            ErrorKind::Runtime,
            format!("a query gave {size} bytes where {} were expected", size_of::<T>()),
        ));
    }
    // SAFETY: zeroed, then perhaps overwritten; `Plain` types take any bit pattern.
    Ok(unsafe { value.assume_init() })
}

/// A list of any length; empty when the driver has none.
pub(crate) fn list<T: Plain>(
    mut ask: impl FnMut(usize, *mut c_void, *mut usize) -> Result<()>,
) -> Result<Vec<T>> {
    let mut size = 0;
    ask(0, std::ptr::null_mut(), &mut size)?;
    let length = size / size_of::<T>();
    if length == 0 {
        return Ok(Vec::new());
    }
    let mut values: Vec<T> = Vec::new();
    values.try_reserve_exact(length).map_err(|error| {
        Error::new(ErrorKind::MemoryAllocation, format!("a query wants {size} bytes")).with_source(error)
    })?;
    let mut written = length * size_of::<T>();
    // SAFETY: the capacity holds `length` values; zeroes are valid values, and the driver writes at most that many bytes.
    unsafe {
        values.as_mut_ptr().write_bytes(0, length);
        ask(written, values.as_mut_ptr().cast(), &mut written)?;
        values.set_len(length.min(written / size_of::<T>()));
    }
    Ok(values)
}

/// A string, without its terminating NUL. Bytes that are not UTF-8 become replacement characters.
pub(crate) fn string(ask: impl FnMut(usize, *mut c_void, *mut usize) -> Result<()>) -> Result<String> {
    let bytes: Vec<u8> = list(ask)?;
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(bytes: &[u8]) -> impl FnMut(usize, *mut c_void, *mut usize) -> Result<()> + '_ {
        move |size, value, ret| {
            // SAFETY: the functions under test pass null or `size` writable bytes.
            unsafe {
                if !value.is_null() {
                    value.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), size.min(bytes.len()));
                }
                *ret = bytes.len();
            }
            Ok(())
        }
    }

    #[test]
    fn strings_end_at_the_first_nul() {
        assert_eq!(string(answer(b"a name \0rest")).unwrap(), "a name");
        assert_eq!(string(answer(b"")).unwrap(), "");
        assert_eq!(string(answer(b"unterminated")).unwrap(), "unterminated");
    }

    #[test]
    fn a_value_of_another_size_is_an_error() {
        assert_eq!(value::<u32>(answer(&[0; 4])).unwrap(), 0);
        let error = value::<u64>(answer(b"1234")).unwrap_err();
        assert!(error.to_string().contains("4 bytes where 8"), "{error}");
    }

    #[test]
    fn lists_drop_a_partial_element() {
        assert_eq!(list::<u32>(answer(&[1, 0, 0, 0, 2, 0])).unwrap(), [u32::from_ne_bytes([1, 0, 0, 0])]);
        assert!(list::<u32>(answer(&[])).unwrap().is_empty());
    }
}
