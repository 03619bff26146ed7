//! Functions in which all work-items of a work-group or sub-group take part.

use crate::{Data, Item};

/// The work-group of a work-item. From [`Item::work_group`].
///
/// All work-items of the group must call the same function, as for [`Item::barrier`].
///
/// | here | OpenCL C |
/// |---|---|
/// | `all`, `any` | `work_group_all`, `work_group_any` |
/// | `broadcast` | `work_group_broadcast` |
/// | `reduce_add`, `reduce_min`, `reduce_max` | `work_group_reduce_add`, … |
/// | `scan_inclusive_add`, `scan_exclusive_add`, … | `work_group_scan_inclusive_add`, … |
#[derive(Debug, Clone, Copy)]
pub struct WorkGroup<'a, const D: usize> {
    #[cfg_attr(oclave_device, allow(dead_code, reason = "devices know the work-item"))]
    pub(crate) item: Item<'a, D>,
}

/// The sub-group of a work-item. From [`Item::sub_group`]. On the host, a work-group is one
/// sub-group.
///
/// All work-items of the sub-group must call the same function, as for [`Item::barrier`].
///
/// | here | OpenCL C |
/// |---|---|
/// | `local_id`, `size`, `id` | `get_sub_group_local_id`, `get_sub_group_size`, `get_sub_group_id` |
/// | `barrier` | `sub_group_barrier` |
/// | `all`, `any`, `broadcast`, `reduce_add`, `scan_inclusive_add`, … | `sub_group_all`, … |
#[derive(Debug, Clone, Copy)]
pub struct SubGroup<'a, const D: usize> {
    #[cfg_attr(oclave_device, allow(dead_code, reason = "devices know the work-item"))]
    pub(crate) item: Item<'a, D>,
}

/// A number that work-items of a group add up and compare: `i32`, `u32`, `i64`, `u64`, `f32`, `f64`.
pub trait GroupNumber: Data + PartialOrd {
    /// The instructions of SPIR-V for sum, minimum and maximum.
    #[doc(hidden)]
    const SUM: u32;
    #[doc(hidden)]
    const LEAST: u32;
    #[doc(hidden)]
    const GREATEST: u32;

    #[cfg(oclave_device)]
    #[doc(hidden)]
    fn combined(self, scope: u32, part: u32, operation: u32) -> Self;
    #[cfg(oclave_device)]
    #[doc(hidden)]
    fn from_item(self, scope: u32, dimensions: u32, id: [usize; 3]) -> Self;

    #[cfg(not(oclave_device))]
    #[doc(hidden)]
    fn bits(self) -> u64;
    #[cfg(not(oclave_device))]
    #[doc(hidden)]
    fn of_bits(bits: u64) -> Self;
    #[cfg(not(oclave_device))]
    #[doc(hidden)]
    fn apply(self, operation: u32, other: Self) -> Self;
    /// The neutral element of an operation.
    #[cfg(not(oclave_device))]
    #[doc(hidden)]
    fn neutral(operation: u32) -> Self;
}

#[cfg(oclave_device)]
mod device {
    unsafe extern "C" {
        #[link_name = "__oclave_group_vote"]
        safe fn group_vote(scope: u32, all: u32, value: bool) -> bool;
    }

    #[inline(always)]
    pub(super) fn vote(scope: u32, all: u32, value: bool) -> bool {
        crate::parameter::device::keep_whole();
        group_vote(scope, all, value)
    }
}

/// Scopes of SPIR-V.
#[cfg(oclave_device)]
const WORK_GROUP: u32 = 2;
#[cfg(oclave_device)]
const SUB_GROUP: u32 = 3;
/// Parts of a group's values that are combined.
const REDUCE: u32 = 0;
const INCLUSIVE: u32 = 1;
const EXCLUSIVE: u32 = 2;

macro_rules! numbers {
    ($($ty:ident, $passed:ty, $add:literal $min:literal $max:literal, $combine:literal $broadcast:literal,
       |$a:ident, $b:ident| $sum:expr, $zero:expr, $least:expr, $most:expr, |$n:ident| $bits:expr, |$w:ident| $of:expr;)*) => {$(
        impl GroupNumber for $ty {
            const SUM: u32 = $add;
            const LEAST: u32 = $min;
            const GREATEST: u32 = $max;

            #[cfg(oclave_device)]
            #[inline(always)]
            fn combined(self, scope: u32, part: u32, operation: u32) -> Self {
                unsafe extern "C" {
                    #[link_name = $combine]
                    safe fn combine(scope: u32, part: u32, operation: u32, value: $passed) -> $passed;
                }
                crate::parameter::device::keep_whole();
                combine(scope, part, operation, self as $passed) as Self
            }

            #[cfg(oclave_device)]
            #[inline(always)]
            fn from_item(self, scope: u32, dimensions: u32, id: [usize; 3]) -> Self {
                unsafe extern "C" {
                    #[link_name = $broadcast]
                    safe fn broadcast(scope: u32, dimensions: u32, x: usize, y: usize, z: usize, value: $passed) -> $passed;
                }
                crate::parameter::device::keep_whole();
                broadcast(scope, dimensions, id[0], id[1], id[2], self as $passed) as Self
            }

            #[cfg(not(oclave_device))]
            fn bits(self) -> u64 {
                let $n = self;
                $bits
            }

            #[cfg(not(oclave_device))]
            fn of_bits($w: u64) -> Self {
                $of
            }

            #[cfg(not(oclave_device))]
            fn apply(self, operation: u32, other: Self) -> Self {
                let ($a, $b) = (self, other);
                match operation {
                    Self::LEAST => if $b < $a { $b } else { $a },
                    Self::GREATEST => if $b > $a { $b } else { $a },
                    _ => $sum,
                }
            }

            #[cfg(not(oclave_device))]
            fn neutral(operation: u32) -> Self {
                match operation {
                    Self::LEAST => $most,
                    Self::GREATEST => $least,
                    _ => $zero,
                }
            }
        }
    )*};
}

numbers! {
    i32, u32, 264 268 271, "__oclave_group_combine_u32" "__oclave_group_broadcast_u32",
        |a, b| a.wrapping_add(b), 0, i32::MIN, i32::MAX, |n| u64::from(n as u32), |w| w as u32 as i32;
    u32, u32, 264 267 270, "__oclave_group_combine_u32" "__oclave_group_broadcast_u32",
        |a, b| a.wrapping_add(b), 0, u32::MIN, u32::MAX, |n| u64::from(n), |w| w as u32;
    i64, u64, 264 268 271, "__oclave_group_combine_u64" "__oclave_group_broadcast_u64",
        |a, b| a.wrapping_add(b), 0, i64::MIN, i64::MAX, |n| n as u64, |w| w as i64;
    u64, u64, 264 267 270, "__oclave_group_combine_u64" "__oclave_group_broadcast_u64",
        |a, b| a.wrapping_add(b), 0, u64::MIN, u64::MAX, |n| n, |w| w;
    f32, f32, 265 266 269, "__oclave_group_combine_f32" "__oclave_group_broadcast_f32",
        |a, b| a + b, 0.0, f32::NEG_INFINITY, f32::INFINITY, |n| u64::from(n.to_bits()), |w| f32::from_bits(w as u32);
    f64, f64, 265 266 269, "__oclave_group_combine_f64" "__oclave_group_broadcast_f64",
        |a, b| a + b, 0.0, f64::NEG_INFINITY, f64::INFINITY, |n| n.to_bits(), |w| f64::from_bits(w);
}

macro_rules! combinations {
    ($($name:ident: $part:ident $operation:ident, $doc:literal;)*) => {$(
        #[doc = $doc]
        #[inline(always)]
        pub fn $name<T: GroupNumber>(self, value: T) -> T {
            self.combine($part, T::$operation, value)
        }
    )*};
}

macro_rules! groups {
    ($($name:ident, $scope:ident;)*) => {$(
        impl<const D: usize> $name<'_, D> {
            /// Whether it is true for all work-items.
            #[inline(always)]
            pub fn all(self, value: bool) -> bool {
                #[cfg(oclave_device)]
                return device::vote($scope, 1, value);
                #[cfg(not(oclave_device))]
                self.item.exchange(u64::from(value)).iter().all(|value| *value != 0)
            }

            /// Whether it is true for some work-item.
            #[inline(always)]
            pub fn any(self, value: bool) -> bool {
                #[cfg(oclave_device)]
                return device::vote($scope, 0, value);
                #[cfg(not(oclave_device))]
                self.item.exchange(u64::from(value)).iter().any(|value| *value != 0)
            }

            combinations! {
                reduce_add: REDUCE SUM, "The sum of the values of all work-items.";
                reduce_min: REDUCE LEAST, "The least value of all work-items.";
                reduce_max: REDUCE GREATEST, "The greatest value of all work-items.";
                scan_inclusive_add: INCLUSIVE SUM, "The sum of the values up to this work-item's.";
                scan_inclusive_min: INCLUSIVE LEAST, "The least value up to this work-item's.";
                scan_inclusive_max: INCLUSIVE GREATEST, "The greatest value up to this work-item's.";
                scan_exclusive_add: EXCLUSIVE SUM, "The sum of the values before this work-item's; 0 for the first.";
                scan_exclusive_min: EXCLUSIVE LEAST, "The least value before this work-item's; the greatest number for the first.";
                scan_exclusive_max: EXCLUSIVE GREATEST, "The greatest value before this work-item's; the least number for the first.";
            }

            #[inline(always)]
            fn combine<T: GroupNumber>(self, part: u32, operation: u32, value: T) -> T {
                #[cfg(oclave_device)]
                return value.combined($scope, part, operation);
                #[cfg(not(oclave_device))]
                {
                    let values = self.item.exchange(value.bits());
                    let count = match part {
                        REDUCE => values.len(),
                        INCLUSIVE => self.item.number_in_group() + 1,
                        _ => self.item.number_in_group(),
                    };
                    let values = values.iter().take(count).map(|value| T::of_bits(*value));
                    values.fold(T::neutral(operation), |a, b| a.apply(operation, b))
                }
            }
        }
    )*};
}

groups! {
    WorkGroup, WORK_GROUP;
    SubGroup, SUB_GROUP;
}

impl<const D: usize> WorkGroup<'_, D> {
    /// The value of the work-item with a [local id](Item::local_id), which must be the same for all.
    ///
    /// On devices, an id beyond the group gives any value: a check would cost a barrier.
    ///
    /// # Panics
    /// In `run_on_host`, if the group has no such work-item.
    #[inline(always)]
    pub fn broadcast<T: GroupNumber>(self, value: T, local_id: [usize; D]) -> T {
        let mut id = [0; 3];
        let mut axis = 0;
        while axis < D {
            id[axis] = local_id[axis];
            axis += 1;
        }
        #[cfg(oclave_device)]
        return value.from_item(WORK_GROUP, D as u32, id);
        #[cfg(not(oclave_device))]
        {
            let values = self.item.exchange(value.bits());
            T::of_bits(values[self.item.number_of(id)])
        }
    }
}

impl<const D: usize> SubGroup<'_, D> {
    /// The value of the work-item with a [local id](Self::local_id), which must be the same for all.
    ///
    /// On devices, an id beyond the group gives any value: a check would cost a question to all of the sub-group.
    ///
    /// # Panics
    /// In `run_on_host`, if the group has no such work-item.
    #[inline(always)]
    pub fn broadcast<T: GroupNumber>(self, value: T, local_id: u32) -> T {
        #[cfg(oclave_device)]
        return value.from_item(SUB_GROUP, 1, [local_id as usize, 0, 0]);
        #[cfg(not(oclave_device))]
        T::of_bits(self.item.exchange(value.bits())[local_id as usize])
    }

    /// The number of the work-item in the sub-group.
    #[inline(always)]
    pub fn local_id(self) -> u32 {
        #[cfg(oclave_device)]
        return crate::parameter::device::sub_group_local_id();
        #[cfg(not(oclave_device))]
        {
            self.item.number_in_group() as u32
        }
    }

    /// Work-items of the sub-group.
    #[inline(always)]
    pub fn size(self) -> u32 {
        #[cfg(oclave_device)]
        return crate::parameter::device::sub_group_size();
        #[cfg(not(oclave_device))]
        {
            self.item.local_size.iter().product::<usize>() as u32
        }
    }

    /// The number of the sub-group in its work-group.
    #[inline(always)]
    pub fn id(self) -> u32 {
        #[cfg(oclave_device)]
        return crate::parameter::device::sub_group_id();
        #[cfg(not(oclave_device))]
        0
    }

    /// Waits for all work-items of the sub-group.
    #[inline(always)]
    pub fn barrier(self) {
        #[cfg(oclave_device)]
        crate::parameter::device::barrier(SUB_GROUP, crate::item::LOCAL | crate::item::GLOBAL);
        #[cfg(not(oclave_device))]
        self.item.barrier();
    }
}
