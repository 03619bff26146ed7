//! Code for devices or for the host only: `if_device!` and `if_host!`.
//!
//! A source is compiled for each side, and each side has its own bodies. With `single_pass` of
//! `oclave-build` it is compiled once, with the bodies of both, and post-link makes an image for each
//! side. It knows bodies by functions that are not inlined and ask for the side.

/// Code for devices only, in kernels and in the functions that they share with the host.
///
/// ```
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// use oclave_kernel::{HostRange, Item, Out, device_global, if_device, kernel};
///
/// device_global! {
///     /// How many readings were too high.
///     pub static TOO_HIGH: AtomicU32 = AtomicU32::new(0);
/// }
///
/// /// The level of a reading, 0 to 9.
/// fn level(reading: f32) -> u32 {
///     if reading > 9.0 {
///         if_device! {
///             TOO_HIGH.fetch_add(1, Relaxed);
///         }
///     }
///     reading.clamp(0.0, 9.0) as u32
/// }
///
/// #[kernel]
/// pub fn levels(item: Item<1>, readings: &[f32], mut out: Out<[u32; 2]>) {
///     let side = if_device!({ 1 } else { 2 });
///     *out = [level(readings[item.global_id()[0]]), side];
/// }
///
/// let mut out = [[0; 2]; 2];
/// levels::run_on_host(HostRange::new([2]), &[3.5, 12.0], &mut out);
/// assert_eq!(out, [[3, 2], [9, 2]]);
/// assert_eq!(TOO_HIGH.load(Relaxed), 0);
/// ```
/// [`run_on_host`](crate::kernel) takes the bodies of the host. A body is a closure that is called at
/// once: `return` leaves the body, and not the function around it. Both bodies of a choice have one type.
///
/// rustc checks all bodies on both sides, and the code of each side has its own bodies only. So a kernel
/// whose [`if_host!`](crate::if_host) uses `f64` needs no doubles on devices.
///
/// With `single_pass` of `oclave-build`, devices and a CPU device that serves as the host
/// (`Device::as_host`) have images of their own, from one compilation. There, no body may wait for other
/// work-items (barriers and functions of work-groups).
#[macro_export]
macro_rules! if_device {
    ({ $($body:tt)* } else { $($other:tt)* }) => { $crate::__sides!([_] { $($body)* } { $($other)* }) };
    ($($body:tt)*) => { $crate::__sides!([()] { $($body)* } {}) };
}

/// Code for the host only: [`if_device!`](crate::if_device) with the sides exchanged.
///
/// ```
/// use oclave_kernel::{HostRange, Item, Out, if_host, kernel};
///
/// #[kernel]
/// pub fn twice(item: Item<1>, mut x: Out<u32>) {
///     if_host! {
///         println!("work-item {:?} has {}", item.global_id(), *x);
///     }
///     *x = if_host!({ x.checked_mul(2).expect("small") } else { *x << 1 });
/// }
///
/// let mut x = [1, 2, 3];
/// twice::run_on_host(HostRange::new([3]), &mut x);
/// assert_eq!(x, [2, 4, 6]);
/// ```
#[macro_export]
macro_rules! if_host {
    ({ $($body:tt)* } else { $($other:tt)* }) => { $crate::__sides!([_] { $($other)* } { $($body)* }) };
    ($($body:tt)*) => { $crate::__sides!([()] {} { $($body)* }) };
}

/// The bodies for devices and for the host, with the type of their results.
#[cfg(not(oclave_single_pass))]
#[doc(hidden)]
#[macro_export]
macro_rules! __sides {
    ([$ty:ty] { $($device:tt)* } { $($host:tt)* }) => {
        // rustc checks both, and leaves one out.
        if $crate::__private::IS_DEVICE {
            $crate::__private::run_here::<$ty>(|| { $($device)* })
        } else {
            $crate::__private::run_here::<$ty>(|| { $($host)* })
        }
    };
}

/// The bodies for devices and for the host, with the type of their results.
#[cfg(oclave_single_pass)]
#[doc(hidden)]
#[macro_export]
macro_rules! __sides {
    ([$ty:ty] { $($device:tt)* } { $($host:tt)* }) => {{
        let mut choice = $crate::__private::Choice::<$ty>::new();
        choice.on_device(|| { $($device)* });
        choice.on_host(|| { $($host)* });
        choice.result()
    }};
}

/// Which side this is.
#[cfg(not(oclave_single_pass))]
pub const IS_DEVICE: bool = cfg!(oclave_device);

/// Calls a body.
#[cfg(not(oclave_single_pass))]
#[inline(always)]
pub fn run_here<R>(body: impl FnOnce() -> R) -> R {
    body()
}

/// The result of the body of one side.
#[cfg(oclave_single_pass)]
#[derive(Debug)]
pub struct Choice<R> {
    result: core::mem::MaybeUninit<R>,
}

#[cfg(oclave_single_pass)]
impl<R> Choice<R> {
    #[inline(always)]
    pub const fn new() -> Self {
        Self { result: core::mem::MaybeUninit::uninit() }
    }

    #[inline(always)]
    pub fn on_device(&mut self, body: impl FnOnce() -> R) {
        on_device(|| {
            self.result.write(body());
        });
    }

    #[inline(always)]
    pub fn on_host(&mut self, body: impl FnOnce() -> R) {
        on_host(|| {
            self.result.write(body());
        });
    }

    /// The result of the body that was called.
    #[inline(always)]
    pub const fn result(self) -> R {
        // SAFETY: the macro has called both methods, and one of them calls its body: there are two sides.
        unsafe { self.result.assume_init() }
    }
}

#[cfg(oclave_single_pass)]
mod guards {
    unsafe extern "C" {
        #[link_name = "__oclave_on_device"]
        pub(super) safe fn on_device() -> bool;
        #[link_name = "__oclave_on_host"]
        pub(super) safe fn on_host() -> bool;
    }
}

/// Post-link removes this function for the other side.
#[cfg(oclave_single_pass)]
#[inline(never)]
fn on_device(body: impl FnOnce()) {
    if guards::on_device() {
        body();
    }
}

/// Post-link removes this function for the other side.
#[cfg(oclave_single_pass)]
#[inline(never)]
fn on_host(body: impl FnOnce()) {
    if guards::on_host() {
        body();
    }
}
