//! Objects of traits: one kernel makes them, and another one calls them.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

use crate::description::{FieldDescription, TypeDescription};
use crate::{Data, Element};

/// `dyn Trait` of a trait with the attribute [`objects`](macro@crate::objects).
///
/// # Safety
/// Implemented by the attribute.
pub unsafe trait Objects: 'static {
    #[doc(hidden)]
    const OBJECT: &'static str;
    #[doc(hidden)]
    const SET: &'static str;

    /// The number of a class in this program, if its objects fit into so many bytes; else `u32::MAX`.
    #[cfg(oclave_device)]
    #[doc(hidden)]
    fn index(class: u64, size: u64) -> u32;

    /// The table of functions of the class of a number.
    #[cfg(oclave_device)]
    #[doc(hidden)]
    fn table(index: u64) -> *const ();

    /// The classes whose objects this process has made.
    #[cfg(not(oclave_device))]
    #[doc(hidden)]
    fn classes() -> &'static Classes<Self>;
}

/// A type whose implementation of a trait has the attribute [`objects`](macro@crate::objects). `D` is `dyn Trait`.
///
/// # Safety
/// Implemented by the attribute.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no class of objects of `{D}`",
    note = "write `#[oclave_kernel::objects]` before the trait, and before its implementation for this type"
)]
pub unsafe trait Class<D: Objects + ?Sized>: Data {
    #[doc(hidden)]
    const NUMBER: u64;

    #[cfg(not(oclave_device))]
    #[doc(hidden)]
    fn upcast(object: *mut u8) -> *mut D;
}

/// Memory for an object of any class of a trait, with room for a value of `SIZE` bytes.
///
/// It is [`Data`]: one kernel writes objects to a `Global` or `Out`, and others call them, as does the
/// host. It is used as `dyn Trait`, so that each call goes to the function of its class.
/// ```
/// use oclave_kernel::{Data, HostRange, Item, Object, Out, kernel, objects};
///
/// #[objects]
/// pub trait Shape {
///     fn area(&self) -> f32;
/// }
///
/// #[derive(Clone, Copy, Data)]
/// #[repr(C)]
/// pub struct Square {
///     side: f32,
/// }
///
/// #[objects]
/// impl Shape for Square {
///     fn area(&self) -> f32 {
///         self.side * self.side
///     }
/// }
///
/// #[kernel]
/// pub fn make(item: Item<1>, mut shape: Out<Object<dyn Shape, 16>>) {
///     *shape = Object::new(Square { side: item.global_id()[0] as f32 });
/// }
///
/// #[kernel]
/// pub fn measure(item: Item<1>, shapes: &[Object<dyn Shape, 16>], mut area: Out<f32>) {
///     *area = shapes[item.global_id()[0]].area();
/// }
///
/// let (mut shapes, mut areas) = ([Object::default(); 4], [0.0; 4]);
/// make::run_on_host(HostRange::new([4]), &mut shapes);
/// measure::run_on_host(HostRange::new([4]), &shapes, &mut areas);
/// assert_eq!(areas, [0.0, 1.0, 4.0, 9.0]);
/// ```
/// The memory has a number of the class, which is made of the names of type and trait. So objects are
/// valid in all kernels and programs whose sources have the class, and on the host. A call through memory
/// that holds no object is a panic. So is one through an object of a class that the program does not have.
#[repr(C, align(16))]
pub struct Object<D: Objects + ?Sized, const SIZE: usize> {
    class: u64,
    reserved: u64,
    value: [u8; SIZE],
    of: PhantomData<fn(&D)>,
}

impl<D: Objects + ?Sized, const SIZE: usize> Object<D, SIZE> {
    const FIELDS: &'static [FieldDescription] = &[
        FieldDescription::new("class", 0, <u64 as Element>::DESCRIPTION),
        FieldDescription::new("reserved", 8, <u64 as Element>::DESCRIPTION),
        FieldDescription::new("value", 16, <[u8; SIZE] as Element>::DESCRIPTION),
    ];
    /// The trait's name, and the room of the value.
    const NAME: &'static str = {
        let (bytes, len) = &Self::LETTERS;
        let (name, _) = bytes.split_at(*len);
        match core::str::from_utf8(name) {
            Ok(name) => name,
            Err(_) => D::OBJECT,
        }
    };
    const LETTERS: ([u8; 128], usize) = numbered(D::OBJECT, SIZE);
    const IS_WHOLE: () =
        assert!(SIZE.is_multiple_of(16) && SIZE > 0, "the size of an `Object` is a multiple of 16");

    /// An object with this value. A value that is larger than the memory is an error of the build.
    #[inline(always)]
    pub fn new<T: Class<D>>(value: T) -> Self {
        const { assert!(size_of::<T>() <= SIZE, "this class is larger than the memory of the `Object`") };
        const { assert!(align_of::<T>() <= 16, "objects are aligned to 16 bytes") };
        #[cfg(not(oclave_device))]
        D::classes().add::<T>();
        let mut object = Self { class: T::NUMBER, ..Self::default() };
        // SAFETY: the value fits, and the bytes of an object are aligned to 16.
        unsafe { object.value.as_mut_ptr().cast::<T>().write(value) };
        object
    }

    /// Whether it is an object of this class.
    #[inline(always)]
    pub fn is<T: Class<D>>(&self) -> bool {
        self.class == T::NUMBER && size_of::<T>() <= SIZE
    }

    /// The value, if it is an object of this class.
    #[inline(always)]
    pub fn downcast_ref<T: Class<D>>(&self) -> Option<&T> {
        // SAFETY: the value fits, and any bytes are a value of `T`.
        self.is::<T>().then(|| unsafe { &*self.value.as_ptr().cast::<T>() })
    }

    /// The number of the class, which is 0 if this is no object, and the bytes of the value. The host passes them to
    /// devices: `HittableObject48::new(class, 0, value)` with the type that the build wrote.
    pub const fn into_parts(self) -> (u64, [u8; SIZE]) {
        (self.class, self.value)
    }

    /// From the parts that a device wrote. Before the host calls it, the process has made an object of the class, or
    /// has called [`register`](Self::register).
    #[inline(always)]
    pub const fn from_parts(class: u64, value: [u8; SIZE]) -> Self {
        const { Self::IS_WHOLE };
        Self { class, reserved: 0, value, of: PhantomData }
    }

    /// Lets the host call objects of a class that only devices have made. [`new`](Self::new) does it, too.
    #[cfg(not(oclave_device))]
    pub fn register<T: Class<D>>() {
        D::classes().add::<T>();
    }

    #[cfg(oclave_device)]
    #[inline(always)]
    #[track_caller]
    fn table(&self) -> *const () {
        let index = D::index(self.class, SIZE as u64);
        if index == u32::MAX {
            no_object();
        }
        D::table(u64::from(index))
    }
}

impl<D: Objects + ?Sized, const SIZE: usize> Deref for Object<D, SIZE> {
    type Target = D;

    /// # Panics
    /// If the memory holds no object of a class that the program has.
    #[inline(always)]
    #[track_caller]
    fn deref(&self) -> &D {
        let value = self.value.as_ptr();
        #[cfg(oclave_device)]
        {
            // SAFETY: rustc's references to `dyn Trait` are these two. The table is that of a class whose value fits, and
            // any bytes are a value.
            unsafe { core::mem::transmute_copy(&[value.cast::<()>(), self.table()]) }
        }
        #[cfg(not(oclave_device))]
        {
            let Some(upcast) = D::classes().find(self.class, SIZE) else { no_object() };
            // SAFETY: the value fits, and any bytes are a value of the class.
            unsafe { &*upcast(value.cast_mut()) }
        }
    }
}

impl<D: Objects + ?Sized, const SIZE: usize> DerefMut for Object<D, SIZE> {
    /// # Panics
    /// If the memory holds no object of a class that the program has.
    #[inline(always)]
    #[track_caller]
    fn deref_mut(&mut self) -> &mut D {
        #[cfg(oclave_device)]
        {
            let table = self.table();
            // SAFETY: as for `deref`.
            unsafe { core::mem::transmute_copy(&[self.value.as_mut_ptr().cast_const().cast::<()>(), table]) }
        }
        #[cfg(not(oclave_device))]
        {
            let Some(upcast) = D::classes().find(self.class, SIZE) else { no_object() };
            // SAFETY: as for `deref`.
            unsafe { &mut *upcast(self.value.as_mut_ptr()) }
        }
    }
}

/// `oclave-rust` knows the message by the name.
#[cold]
#[inline(never)]
#[track_caller]
fn no_object() -> ! {
    panic!("a call of memory that holds no object of this program's classes")
}

impl<D: Objects + ?Sized, const SIZE: usize> Clone for Object<D, SIZE> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<D: Objects + ?Sized, const SIZE: usize> Copy for Object<D, SIZE> {}

/// Memory that holds no object.
impl<D: Objects + ?Sized, const SIZE: usize> Default for Object<D, SIZE> {
    #[inline(always)]
    fn default() -> Self {
        Self::from_parts(0, [0; SIZE])
    }
}

impl<D: Objects + ?Sized, const SIZE: usize> fmt::Debug for Object<D, SIZE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(Self::NAME).field("class", &self.class).field("value", &self.value).finish()
    }
}

/// Whether class and bytes are equal.
impl<D: Objects + ?Sized, const SIZE: usize> PartialEq for Object<D, SIZE> {
    fn eq(&self, other: &Self) -> bool {
        self.class == other.class && self.value == other.value
    }
}

// SAFETY: any bytes are numbers; the class is checked before each use of the value.
unsafe impl<D: Objects + ?Sized, const SIZE: usize> Element for Object<D, SIZE> {
    const DESCRIPTION: &'static TypeDescription = {
        let () = Self::IS_WHOLE;
        &TypeDescription::structure::<Self>(Self::NAME, Self::FIELDS)
    };
    const IS_ATOMIC: bool = false;
}
// SAFETY: the fields have no bytes between them, as the size is a multiple of the alignment.
unsafe impl<D: Objects + ?Sized, const SIZE: usize> Data for Object<D, SIZE> {}

/// A name of at most 100 bytes, and a number after it. The rest of a longer name is left out.
const fn numbered(name: &str, number: usize) -> ([u8; 128], usize) {
    let (mut bytes, name) = ([0; 128], name.as_bytes());
    let (mut len, mut unit) = (0, 1);
    while len < name.len() && len < 100 {
        bytes[len] = name[len];
        len += 1;
    }
    while number / unit >= 10 {
        unit *= 10;
    }
    while unit > 0 {
        bytes[len] = b'0' + (number / unit % 10) as u8;
        len += 1;
        unit /= 10;
    }
    (bytes, len)
}

/// The number of a class, by the names of its trait and its type. It is not 0.
#[must_use]
pub const fn class_number(of_trait: &str, of_type: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let parts = [of_trait.as_bytes(), b" for ", of_type.as_bytes()];
    let mut part = 0;
    while part < parts.len() {
        let mut at = 0;
        while at < parts[part].len() {
            hash = (hash ^ parts[part][at] as u64).wrapping_mul(0x0000_0100_0000_01b3);
            at += 1;
        }
        part += 1;
    }
    if hash == 0 { 1 } else { hash }
}

#[cfg(not(oclave_device))]
pub use host::Classes;

/// The classes of a trait in this process.
#[cfg(not(oclave_device))]
mod host {
    use core::any::type_name;
    use core::fmt;
    use std::boxed::Box;
    use std::sync::OnceLock;

    use super::{Class, Objects};

    type Upcast<D> = fn(*mut u8) -> *mut D;

    struct Entry<D: ?Sized> {
        number: u64,
        size: usize,
        name: &'static str,
        upcast: Upcast<D>,
        rest: Classes<D>,
    }

    /// A list that only grows, so that it is read without a lock.
    #[doc(hidden)]
    pub struct Classes<D: ?Sized>(OnceLock<Box<Entry<D>>>);

    impl<D: ?Sized> Default for Classes<D> {
        fn default() -> Self {
            Self::new()
        }
    }

    impl<D: ?Sized> Classes<D> {
        /// No classes.
        pub const fn new() -> Self {
            Self(OnceLock::new())
        }
    }

    impl<D: Objects + ?Sized> Classes<D> {
        /// Adds a class, unless it is there.
        ///
        /// # Panics
        /// If another class has its number: that is, its name.
        pub(super) fn add<T: Class<D>>(&self) {
            let name = type_name::<T>();
            let mut list = self;
            loop {
                let entry = list.0.get_or_init(|| {
                    Box::new(Entry {
                        number: T::NUMBER,
                        size: size_of::<T>(),
                        name,
                        upcast: T::upcast,
                        rest: Self::new(),
                    })
                });
                if entry.number == T::NUMBER {
                    assert!(entry.name == name, "two classes of one name: {} and {name}", entry.name);
                    return;
                }
                list = &entry.rest;
            }
        }

        /// How to see bytes as an object of the class of a number, if it fits into so many.
        pub(super) fn find(&self, number: u64, size: usize) -> Option<Upcast<D>> {
            let mut list = self;
            while let Some(entry) = list.0.get() {
                if entry.number == number {
                    return (entry.size <= size).then_some(entry.upcast);
                }
                list = &entry.rest;
            }
            None
        }
    }

    impl<D: ?Sized> fmt::Debug for Classes<D> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.debug_struct("Classes").finish_non_exhaustive()
        }
    }
}
