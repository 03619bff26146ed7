//! The `clGet…Info` calling pattern: ask for the size, then for the value.
//!
//! ```text
//! let name = info::string(|size, value, ret| unsafe { api.clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, size, value, ret) })?;
//! ```

use std::ffi::c_void;

use crate::MakeError as _;
use crate::{Error, ErrorKind, Result};

/// Values that a driver may fill with any bytes.
///
/// # Safety
/// Every bit pattern is a valid value: integers and raw pointers (handles) only, or structs of
/// these.
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
unsafe impl Plain for crate::sys::cl_name_version {}
// SAFETY: an array of values each of which takes any bit pattern.
unsafe impl<T: Plain, const N: usize> Plain for [T; N] {}

/// No answer is longer than this: build logs and binaries of large programs stay far below. A
/// loader or driver that names a longer one is broken, and must not make the process run out of
/// memory.
const MOST_BYTES: usize = 256 << 20;

/// Nor does a machine have so many platforms, devices or parts of a device.
const MOST_HANDLES: u32 = 1 << 16;

/// Memory of `size_bytes` for an answer, as so many elements, all zero.
///
/// # Errors
/// When the driver asks for more than any answer takes.
pub(crate) fn room<T: Plain>(size_bytes: usize) -> Result<Vec<T>> {
    if size_bytes > MOST_BYTES {
        return Err(Error::new(
            ErrorKind::Runtime,
            format!("a query wants {size_bytes} bytes, more than any answer takes; the driver is broken"),
        ));
    }
    let length = size_bytes / size_of::<T>();
    let mut values: Vec<T> = Vec::new();
    values.try_reserve_exact(length).map_err(|error| {
        Error::new(ErrorKind::MemoryAllocation, format!("a query wants {size_bytes} bytes"))
            .with_source(error)
    })?;
    // SAFETY: the capacity holds `length` values, and zeroes are valid ones.
    unsafe {
        values.as_mut_ptr().write_bytes(0, length);
        values.set_len(length);
    }
    Ok(values)
}

/// A list of `what`, from a function that takes the room, and tells how many there are: handles
/// that are not null.
pub(crate) fn handles<T>(
    what: &str,
    mut ask: impl FnMut(u32, *mut *mut T, *mut u32) -> Result<()>,
) -> Result<Vec<*mut T>> {
    let mut count = 0;
    ask(0, std::ptr::null_mut(), &mut count)?;
    if count > MOST_HANDLES {
        return Err(Error::new(
            ErrorKind::Platform,
            format!("the OpenCL loader or driver claims to have {count} {what}, more than any machine has"),
        )
        .remedy("check which library `oclave::device::loader_name()` and OCL_ICD_VENDORS name"));
    }
    let mut handles = vec![std::ptr::null_mut(); count as usize];
    if handles.is_empty() {
        return Ok(handles);
    }
    ask(count, handles.as_mut_ptr(), &mut count)?;
    handles.truncate(count as usize);
    handles.retain(|handle| !handle.is_null());
    Ok(handles)
}

/// One value of a fixed size. A driver that answers with another size gives an error, as the value
/// would be garbage.
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
    let mut values: Vec<T> = room(size)?;
    if values.is_empty() {
        return Ok(values);
    }
    let mut written = size_of_val(values.as_slice());
    ask(written, values.as_mut_ptr().cast(), &mut written)?;
    values.truncate(written / size_of::<T>());
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
    fn answers_that_cannot_be_are_errors() {
        let huge = |size: usize, _: *mut c_void, ret: *mut usize| {
            assert_eq!(size, 0, "room was made for it");
            // SAFETY: the function under test passes where the size goes.
            unsafe { *ret = usize::MAX - 7 };
            Ok(())
        };
        let error = list::<u64>(huge).unwrap_err();
        assert!(error.to_string().contains("more than any answer takes"), "{error}");
        let lie = |room: u32, _: *mut *mut c_void, count: *mut u32| {
            assert_eq!(room, 0, "room was made for it");
            // SAFETY: as above.
            unsafe { *count = u32::MAX };
            Ok(())
        };
        let error = handles("platforms", lie).unwrap_err();
        assert!(error.kind() == ErrorKind::Platform && error.to_string().contains("platforms"), "{error}");
    }

    #[test]
    fn handles_are_those_that_were_given() {
        // Three are announced, two are given, one of them null.
        let mut handle = 7_u8;
        let first: *mut u8 = &mut handle;
        let ask = |room: u32, handles: *mut *mut u8, count: *mut u32| {
            // SAFETY: the function under test passes `room` places, and one for the count.
            unsafe {
                *count = if room == 0 { 3 } else { 2 };
                if room > 0 {
                    *handles = first;
                }
            }
            Ok(())
        };
        assert_eq!(super::handles("things", ask).unwrap(), [first]);
        // More in the second answer than room was made for.
        let more = |room: u32, handles: *mut *mut u8, count: *mut u32| {
            // SAFETY: as above.
            unsafe {
                *count = room + 1;
                if room > 0 {
                    *handles = first;
                }
            }
            Ok(())
        };
        assert_eq!(super::handles("things", more).unwrap(), [first]);
    }

    #[test]
    fn lists_drop_a_partial_element() {
        assert_eq!(list::<u32>(answer(&[1, 0, 0, 0, 2, 0])).unwrap(), [u32::from_ne_bytes([1, 0, 0, 0])]);
        assert!(list::<u32>(answer(&[])).unwrap().is_empty());
    }
}
