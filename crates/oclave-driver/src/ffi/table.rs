//! The macro behind every table of OpenCL functions.
//!
//! A line such as
//!
//! ```text
//! clEnqueueMarkerWithWaitList(queue: cl_command_queue, wait: [cl_event], event: new_event) -> status;
//! ```
//!
//! declares a field with the C function pointer, which is `None` when the library does not have the
//! function. It also declares an `unsafe` method of the same name. The method checks for presence,
//! passes the recording hook, calls the function and turns its code into a `Result`.
//!
//! | parameter | in Rust | in C |
//! |---|---|---|
//! | `name: [T]` | `&[T]` | `cl_uint count, const T*` (NULL when empty) |
//! | `wait: [T]` | the same | the same; the length is recorded |
//! | `name: new_event` | `*mut cl_event` (null: none wanted) | the same; the event is recorded |
//! | `name: T` | `T` | `T` |
//!
//! | outcome | C | Rust |
//! |---|---|---|
//! | `status` | `cl_int` | `Result<()>` |
//! | `new Kind(T)` | `T`, last parameter `cl_int*` | `Result<T>`, an object with one reference |
//! | `linked Kind(T)` | the same, and an object may come with an error | `Result<T, (Error, Option<T>)>` |
//! | `code(T)` | `T`, last parameter `cl_int*` | `Result<T>` |
//! | `alloc Kind(T)` | `T`, null on failure | `Result<T>` |
//! | `retain Kind`, `release Kind` | `cl_int` | `Result<()>` |
//! | `free Kind` / `free_void Kind` | `cl_int` / nothing; parameters (context, …, pointer) | `Result<()>` |
//! | `plain(T)` | `T` | `Result<T>` |

use crate::MakeError as _;
use crate::sys::cl_uint;
use crate::{Error, ErrorKind, Result};

/// Where a table's functions come from, for the error when one is missing.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Origin {
    /// Exported by the loader.
    Loader,
    /// Part of an extension.
    Extension(&'static str),
}

/// The function, or the error that says who lacks it.
#[inline(always)]
pub(crate) fn required<F>(function: Option<F>, name: &'static str, origin: Origin) -> Result<F> {
    match function {
        Some(function) => Ok(function),
        None => Err(missing(name, origin)),
    }
}

#[cold]
fn missing(name: &'static str, origin: Origin) -> Error {
    match origin {
        Origin::Loader => Error::new(ErrorKind::Platform, format!("the OpenCL loader has no {name}"))
            .remedy("install an OpenCL loader of version 2.1 or later"),
        Origin::Extension(extension) => {
            Error::new(ErrorKind::FeatureNotSupported, format!("the platform has no {name}"))
                .remedy(format!("use a device with {extension}"))
        }
    }
}

/// Turns a status code into a `Result`.
#[inline(always)]
pub(crate) fn check(name: &'static str, code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(failed(name, code)) }
}

#[cold]
fn failed(name: &'static str, code: i32) -> Error {
    Error::cl(name, code)
}

/// The error of a call that gave neither an object nor a code.
#[cold]
pub(crate) fn nothing(name: &'static str) -> Error {
    Error::new(ErrorKind::Runtime, format!("{name} gave neither an object nor an error code"))
}

/// The error of an allocation function without a code that gave null.
#[cold]
pub(crate) fn no_memory(name: &'static str) -> Error {
    Error::new(ErrorKind::MemoryAllocation, format!("{name} gave no memory"))
}

/// Pointer to the elements, NULL when there are none: OpenCL wants NULL for empty lists, and
/// drivers crash on others.
#[inline(always)]
pub(crate) fn list<T>(items: &[T]) -> *const T {
    if items.is_empty() { std::ptr::null() } else { items.as_ptr() }
}

/// Number of elements as OpenCL counts them.
///
/// A list of more than `u32::MAX` elements cannot be passed in one call; it saturates, and the
/// driver refuses it.
#[inline(always)]
pub(crate) fn count<T>(items: &[T]) -> cl_uint {
    cl_uint::try_from(items.len()).unwrap_or(cl_uint::MAX)
}

/// The C type of one declared function.
macro_rules! c_function {
    (@ [$($c:ty,)*] ($arg:ident : [$t:ty] $(, $($rest:tt)*)?) $($out:tt)*) => {
        c_function!(@ [$($c,)* cl_uint, *const $t,] ($($($rest)*)?) $($out)*)
    };
    (@ [$($c:ty,)*] ($arg:ident : new_event $(, $($rest:tt)*)?) $($out:tt)*) => {
        c_function!(@ [$($c,)* *mut cl_event,] ($($($rest)*)?) $($out)*)
    };
    (@ [$($c:ty,)*] ($arg:ident : $t:ty $(, $($rest:tt)*)?) $($out:tt)*) => {
        c_function!(@ [$($c,)* $t,] ($($($rest)*)?) $($out)*)
    };
    (@ [$($c:ty,)*] () new $kind:ident ($t:ty)) => { unsafe extern "system" fn($($c,)* *mut cl_int) -> $t };
    (@ [$($c:ty,)*] () linked $kind:ident ($t:ty)) => { unsafe extern "system" fn($($c,)* *mut cl_int) -> $t };
    (@ [$($c:ty,)*] () code($t:ty)) => { unsafe extern "system" fn($($c,)* *mut cl_int) -> $t };
    (@ [$($c:ty,)*] () alloc $kind:ident ($t:ty)) => { unsafe extern "system" fn($($c,)*) -> $t };
    (@ [$($c:ty,)*] () plain($t:ty)) => { unsafe extern "system" fn($($c,)*) -> $t };
    (@ [$($c:ty,)*] () free_void $kind:ident) => { unsafe extern "system" fn($($c,)*) };
    (@ [$($c:ty,)*] () $($out:tt)*) => { unsafe extern "system" fn($($c,)*) -> cl_int };
}

/// The method of one declared function. The accumulators are: Rust parameters, C arguments,
/// statements after success.
macro_rules! method {
    (@ $name:ident [] [] [] ($context:ident : $c:ty, $pointer:ident : $p:ty) free $kind:ident) => {
        method! { free $name ($context: $c) ($pointer: $p) $kind }
    };
    (@ $name:ident [] [] [] ($context:ident : $c:ty, $list:ident : $l:ty, $flags:ident : $f:ty, $pointer:ident : $p:ty) free $kind:ident) => {
        method! { free $name ($context: $c, $list: $l, $flags: $f) ($pointer: $p) $kind }
    };
    (free $name:ident ($($arg:ident : $t:ty),*) ($pointer:ident : $p:ty) $kind:ident) => {
        pub(crate) unsafe fn $name(&self, $($arg: $t,)* $pointer: $p) -> $crate::Result<()> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN)?;
            hook::before(stringify!($name))?;
            // Before the call, because the address may be given out again as soon as it is free.
            hook::released(hook::ObjectKind::$kind, $pointer);
            // SAFETY: the caller keeps the function's rules in the OpenCL specification.
            let code = unsafe { function($($arg,)* $pointer) };
            table::check(stringify!($name), code).inspect_err(|_| hook::retained(hook::ObjectKind::$kind, $pointer))
        }
    };
    (@ $name:ident [] [] [] ($context:ident : $c:ty, $pointer:ident : $p:ty) free_void $kind:ident) => {
        pub(crate) unsafe fn $name(&self, $context: $c, $pointer: $p) -> $crate::Result<()> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN)?;
            hook::before(stringify!($name))?;
            hook::released(hook::ObjectKind::$kind, $pointer);
            // SAFETY: the caller keeps the function's rules in the OpenCL specification.
            unsafe { function($context, $pointer) };
            Ok(())
        }
    };
    (@ $name:ident [] [] [] ($object:ident : $t:ty) retain $kind:ident) => {
        #[inline]
        pub(crate) unsafe fn $name(&self, $object: $t) -> $crate::Result<()> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN)?;
            hook::before(stringify!($name))?;
            // SAFETY: the caller keeps the function's rules in the OpenCL specification.
            let code = unsafe { function($object) };
            table::check(stringify!($name), code)?;
            hook::retained(hook::ObjectKind::$kind, $object);
            Ok(())
        }
    };
    (@ $name:ident [] [] [] ($object:ident : $t:ty) release $kind:ident) => {
        #[inline]
        pub(crate) unsafe fn $name(&self, $object: $t) -> $crate::Result<()> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN)?;
            hook::before(stringify!($name))?;
            hook::released(hook::ObjectKind::$kind, $object);
            // SAFETY: the caller keeps the function's rules in the OpenCL specification.
            let code = unsafe { function($object) };
            table::check(stringify!($name), code).inspect_err(|_| hook::retained(hook::ObjectKind::$kind, $object))
        }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [$($post:tt)*] (wait : [$t:ty] $(, $($rest:tt)*)?) $($out:tt)*) => {
        method! { @ $name [$($rust)* wait: &[$t],] [$($call)* table::count(wait), table::list(wait),]
            [$($post)* hook::waited(wait.len());] ($($($rest)*)?) $($out)* }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [$($post:tt)*] ($arg:ident : [$t:ty] $(, $($rest:tt)*)?) $($out:tt)*) => {
        method! { @ $name [$($rust)* $arg: &[$t],] [$($call)* table::count($arg), table::list($arg),] [$($post)*]
            ($($($rest)*)?) $($out)* }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [$($post:tt)*] ($arg:ident : new_event $(, $($rest:tt)*)?) $($out:tt)*) => {
        method! { @ $name [$($rust)* $arg: *mut cl_event,] [$($call)* $arg,] [$($post)* hook::event_created($arg);]
            ($($($rest)*)?) $($out)* }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [$($post:tt)*] ($arg:ident : $t:ty $(, $($rest:tt)*)?) $($out:tt)*) => {
        method! { @ $name [$($rust)* $arg: $t,] [$($call)* $arg,] [$($post)*] ($($($rest)*)?) $($out)* }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [$($post:tt)*] () status) => {
        #[inline]
        pub(crate) unsafe fn $name(&self, $($rust)*) -> $crate::Result<()> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN)?;
            hook::before(stringify!($name))?;
            // SAFETY: the caller keeps the function's rules in the OpenCL specification.
            let code = unsafe { function($($call)*) };
            table::check(stringify!($name), code)?;
            $($post)*
            Ok(())
        }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [$($post:tt)*] () new $kind:ident ($t:ty)) => {
        pub(crate) unsafe fn $name(&self, $($rust)*) -> $crate::Result<$t> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN)?;
            hook::before(stringify!($name))?;
            let mut code: cl_int = 0;
            // SAFETY: the caller keeps the function's rules in the OpenCL specification; `code`
            // lives through the call.
            let object = unsafe { function($($call)* &mut code) };
            table::check(stringify!($name), code)?;
            if object.is_null() {
                return Err(table::nothing(stringify!($name)));
            }
            hook::created(hook::ObjectKind::$kind, object);
            $($post)*
            Ok(object)
        }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [] () linked $kind:ident ($t:ty)) => {
        pub(crate) unsafe fn $name(&self, $($rust)*) -> Result<$t, ($crate::Error, Option<$t>)> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN).map_err(|e| (e, None))?;
            hook::before(stringify!($name)).map_err(|e| (e, None))?;
            let mut code: cl_int = 0;
            // SAFETY: the caller keeps the function's rules in the OpenCL specification; `code`
            // lives through the call.
            let object = unsafe { function($($call)* &mut code) };
            if object.is_null() {
                let error = table::check(stringify!($name), code).err();
                return Err((error.unwrap_or_else(|| table::nothing(stringify!($name))), None));
            }
            hook::created(hook::ObjectKind::$kind, object);
            table::check(stringify!($name), code).map_err(|error| (error, Some(object)))?;
            Ok(object)
        }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [$($post:tt)*] () code($t:ty)) => {
        pub(crate) unsafe fn $name(&self, $($rust)*) -> $crate::Result<$t> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN)?;
            hook::before(stringify!($name))?;
            let mut code: cl_int = 0;
            // SAFETY: the caller keeps the function's rules in the OpenCL specification; `code`
            // lives through the call.
            let value = unsafe { function($($call)* &mut code) };
            table::check(stringify!($name), code)?;
            $($post)*
            Ok(value)
        }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [] () alloc $kind:ident ($t:ty)) => {
        pub(crate) unsafe fn $name(&self, $($rust)*) -> $crate::Result<$t> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN)?;
            hook::before(stringify!($name))?;
            // SAFETY: the caller keeps the function's rules in the OpenCL specification.
            let pointer = unsafe { function($($call)*) };
            if pointer.is_null() {
                return Err(table::no_memory(stringify!($name)));
            }
            hook::created(hook::ObjectKind::$kind, pointer);
            Ok(pointer)
        }
    };
    (@ $name:ident [$($rust:tt)*] [$($call:tt)*] [] () plain($t:ty)) => {
        pub(crate) unsafe fn $name(&self, $($rust)*) -> $crate::Result<$t> {
            let function = table::required(self.$name, stringify!($name), Self::ORIGIN)?;
            hook::before(stringify!($name))?;
            // SAFETY: the caller keeps the function's rules in the OpenCL specification.
            Ok(unsafe { function($($call)*) })
        }
    };
}

/// Declares a table; see the module's documentation.
macro_rules! function_table {
    ($(#[$meta:meta])* $table:ident from $origin:expr; $($name:ident ($($params:tt)*) -> $kind:ident $($class:ident)? $(($value:ty))?;)*) => {
        $(#[$meta])*
        #[allow(non_snake_case, missing_debug_implementations, dead_code)]
        pub(crate) struct $table {
            $(pub(crate) $name: Option<c_function!(@ [] ($($params)*) $kind $($class)? $(($value))?)>,)*
        }

        #[allow(non_snake_case, dead_code, clippy::too_many_arguments, clippy::missing_safety_doc)]
        impl $table {
            const ORIGIN: table::Origin = $origin;

            /// The declared names.
            pub(crate) const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Fills the table. `resolve` gets each name with its terminating NUL.
            ///
            /// # Safety
            /// What `resolve` returns for a name is null or the function of that name, for the rest
            /// of the process.
            pub(crate) unsafe fn load(mut resolve: impl FnMut(&std::ffi::CStr) -> *const std::ffi::c_void) -> Self {
                let mut address = |name: &'static str| {
                    let found = std::ffi::CStr::from_bytes_with_nul(name.as_bytes()).map(&mut resolve);
                    found.ok().filter(|address| !address.is_null())
                };
                Self {
                    $($name: address(concat!(stringify!($name), "\0")).map(|address| {
                        // SAFETY: the caller vouches that the address is that of the function of
                        // this name, whose C signature the declaration repeats.
                        unsafe {
                            std::mem::transmute::<
                                *const std::ffi::c_void,
                                c_function!(@ [] ($($params)*) $kind $($class)? $(($value))?),
                            >(address)
                        }
                    }),)*
                }
            }

            /// The declared names that the library does not have.
            pub(crate) fn absent(&self) -> Vec<&'static str> {
                let mut absent = Vec::new();
                $(if self.$name.is_none() { absent.push(stringify!($name)); })*
                absent
            }

            $(method! { @ $name [] [] [] ($($params)*) $kind $($class)? $(($value))? })*
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_list_is_null() {
        assert!(list::<u32>(&[]).is_null());
        assert_eq!(count::<u32>(&[]), 0);
        let items = [1u32, 2];
        assert_eq!(list(&items), items.as_ptr());
        assert_eq!(count(&items), 2);
    }

    #[test]
    fn a_missing_function_names_who_lacks_it() {
        let error = required(None::<fn()>, "clSomething", Origin::Loader).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Platform);
        assert!(error.to_string().contains("clSomething"), "{error}");
        let error = required(None::<fn()>, "clOther", Origin::Extension("cl_khr_other")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
        assert!(error.to_string().contains("cl_khr_other"), "{error}");
    }
}
