//! `if_device` and `if_host` in Rust, which always runs on the host: helpers read the same on both
//! sides.

/// Calls `body`: this code runs on the host. See `oclave/if_device.hpp` for the same in kernel
/// sources.
///
/// ```
/// let mut log = Vec::new();
/// oclave::kernel::if_host(|| log.push("host"));
/// let lanes = oclave::kernel::if_host(|| 1).otherwise(|| unreachable!("only devices call this"));
/// assert_eq!((log, lanes), (vec!["host"], 1));
/// ```
pub fn if_host<R>(body: impl FnOnce() -> R) -> Ran<R> {
    Ran { result: body() }
}

/// Does not call `body`, for devices do; `otherwise` is for the host.
///
/// ```
/// oclave::kernel::if_device(|| unreachable!("only devices call this"));
/// assert_eq!(oclave::kernel::if_device(|| 64).otherwise(|| 1), 1);
/// ```
pub fn if_device<R>(_body: impl FnOnce() -> R) -> NotRun<R> {
    NotRun { result: std::marker::PhantomData }
}

/// The result of [`if_host`]: the body ran.
#[derive(Debug, Clone, Copy)]
pub struct Ran<R> {
    result: R,
}

impl<R> Ran<R> {
    /// The result of the body that ran. `_other` is for devices.
    pub fn otherwise(self, _other: impl FnOnce() -> R) -> R {
        self.result
    }
}

/// The result of [`if_device`]: the body did not run.
#[derive(Debug, Clone, Copy)]
pub struct NotRun<R> {
    result: std::marker::PhantomData<fn() -> R>,
}

impl<R> NotRun<R> {
    /// Calls `other` and gives its result.
    pub fn otherwise(self, other: impl FnOnce() -> R) -> R {
        other()
    }
}
