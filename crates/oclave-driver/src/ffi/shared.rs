//! Calls of functions that kernels and the Rust program share: what generated code expands to. The
//! only `unsafe` of generated code is written here.

/// The static library with the wrappers of a program's shared functions.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_library {
    ($library:literal) => {
        #[link(name = $library, kind = "static")]
        unsafe extern "C" {}
    };
}

/// A Rust function that calls a wrapper: `safe` where its parameters are values, references and
/// slices with their lengths, `unsafe` where they are pointers. The result comes back as a `value`,
/// or is written to a `place`.
#[doc(hidden)]
#[macro_export]
macro_rules! shared_function {
    ($(#[$attribute:meta])* $symbol:literal safe fn $name:ident($($parameter:ident: $ty:ty),*) -> $kind:ident $result:ty
        { $($passed:ident: $abi:ty = $value:expr),* }) => {
        $(#[$attribute])*
        pub fn $name($($parameter: $ty),*) -> $result {
            $crate::shared_call!($symbol $kind $result { $($passed: $abi = $value),* })
        }
    };
    ($(#[$attribute:meta])* $symbol:literal unsafe fn $name:ident($($parameter:ident: $ty:ty),*) -> $kind:ident $result:ty
        { $($passed:ident: $abi:ty = $value:expr),* }) => {
        $(#[$attribute])*
        pub unsafe fn $name($($parameter: $ty),*) -> $result {
            $crate::shared_call!($symbol $kind $result { $($passed: $abi = $value),* })
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! shared_call {
    ($symbol:literal value $result:ty { $($passed:ident: $abi:ty = $value:expr),* }) => {{
        unsafe extern "C" {
            #[link_name = $symbol]
            fn call($($passed: $abi),*) -> $result;
        }
        // SAFETY: oclave-build generated wrapper and declaration from one reading of the source.
        // The compiler of the wrapper checked the layouts. Pointers come from references and slices
        // that outlive the call, or from the caller, who vouches for them.
        unsafe { call($($value),*) }
    }};
    ($symbol:literal place $result:ty { $($passed:ident: $abi:ty = $value:expr),* }) => {{
        unsafe extern "C" {
            #[link_name = $symbol]
            fn call($($passed: $abi,)* result: *mut $result);
        }
        let mut result: $result = $crate::bytemuck::Zeroable::zeroed();
        // SAFETY: as above; the result is plain data with room for all that the wrapper writes.
        unsafe { call($($value,)* &raw mut result) };
        result
    }};
}
