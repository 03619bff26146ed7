//! The check of an index space against what a kernel and its device take.

use crate::MakeError as _;
use crate::device::Aspects;
use crate::driver::Limits;
use crate::driver::launch::WorkSize;
use crate::program::ReadyKernel;
use crate::range::NdRange;
use crate::{Error, ErrorKind, Result};
use oclave_faults::Fault;

/// The demands of a kernel on work-groups.
#[derive(Debug, Clone, Copy, Default)]
struct Demands {
    required: Option<[u32; 3]>,
    /// All work-groups have the same size.
    uniform: bool,
    /// Work-items of one work-group, by the driver's word on the kernel.
    max_work_group_size: usize,
}

/// The index space as the driver takes it; `None` when it is empty.
#[inline(always)]
pub(super) fn check(range: &NdRange, kernel: &ReadyKernel) -> Result<Option<WorkSize>> {
    let signature = kernel.signature();
    let (required, uniform) = (signature.required_work_group_size, signature.uniform_work_groups);
    // The driver is asked only where a group size can be wrong.
    let max_work_group_size = match (range.local(), required) {
        (None, None) => usize::MAX,
        _ => kernel.max_work_group_size()?,
    };
    let demands = Demands { required, uniform, max_work_group_size };
    let size = check_against(range, demands, &kernel.device().capabilities().limits)?;
    if signature.aspects.intersects(EXCHANGES)
        && kernel.device().driver_faults().has(Fault::Q69)
        && let Some(size) = &size
    {
        check_exchange(size, &kernel.device().capabilities().limits)?;
    }
    Ok(size)
}

/// Functions by which work-items of a group exchange values.
const EXCHANGES: Aspects = Aspects::WORK_GROUP_COLLECTIVES.union(Aspects::SUB_GROUPS);

/// Refuses groups of one or two work-items, which end the process with Q69.
#[cold]
fn check_exchange(size: &WorkSize, limits: &Limits) -> Result<()> {
    let group = size.local.unwrap_or_else(|| {
        // The driver takes groups that are as large as possible.
        std::array::from_fn(|i| {
            let largest = limits.max_work_item_sizes[i].min(size.global[i]);
            (1..=largest).rev().find(|group| size.global[i].is_multiple_of(*group)).unwrap_or(1)
        })
    });
    if group.iter().product::<usize>() > 2 {
        return Ok(());
    }
    let message =
        "with this driver, work-group and sub-group functions need groups of at least three work-items (Q69)";
    Err(bad(format!("{message}, and this launch has groups of {group:?}"))
        .remedy(oclave_faults::REMEDY_OF_Q69))
}

#[inline(always)]
fn check_against(range: &NdRange, demands: Demands, limits: &Limits) -> Result<Option<WorkSize>> {
    range.check()?;
    let global = range.global();
    let dimensions = global.dimensions();
    let local = match (range.local(), demands.required) {
        (Some(local), _) => Some(local.sizes()),
        (None, Some(required)) => Some(required.map(|size| size as usize)),
        (None, None) => None,
    };
    if let Some(local) = local {
        check_group(local, dimensions, demands, limits)?;
    }
    if global.is_empty() {
        return Ok(None);
    }
    let global = global.sizes();
    if global.iter().try_fold(1_usize, |total, size| total.checked_mul(*size)).is_none() {
        return Err(bad(format!("{global:?} work-items are more than can be counted")));
    }
    let offset = range.offset().map(|offset| offset.sizes()).map(|sizes| {
        // Dimensions that the range does not have start at 0.
        std::array::from_fn::<usize, 3, _>(|i| {
            if i < dimensions { sizes.get(i).copied().unwrap_or(0) } else { 0 }
        })
    });
    if let Some(offset) = offset
        && global.iter().zip(offset).any(|(size, offset)| size.checked_add(offset).is_none())
    {
        return Err(bad(format!("{global:?} work-items from {offset:?} on have ids that are too large")));
    }
    if let Some(local) = local
        && (demands.uniform || !limits.non_uniform_work_groups)
        && global.iter().zip(local).any(|(size, group)| size.checked_rem(group) != Some(0))
    {
        return Err(does_not_divide(global, local, limits));
    }
    Ok(Some(WorkSize { dimensions: dimensions as u32, global, local, offset }))
}

#[cold]
fn does_not_divide(global: [usize; 3], local: [usize; 3], limits: &Limits) -> Error {
    let otherwise = if limits.non_uniform_work_groups {
        ", or build the program with `non_uniform_work_groups(true)`"
    } else {
        ""
    };
    bad(format!("{global:?} work-items are no whole number of work-groups of {local:?}")).remedy(format!(
        "round the range up, and let the kernel return early for the work-items beyond it{otherwise}"
    ))
}

fn check_group(local: [usize; 3], dimensions: usize, demands: Demands, limits: &Limits) -> Result<()> {
    if let Some(required) = demands.required {
        let required = required.map(|size| size as usize);
        if required != local {
            return Err(bad(format!("the kernel requires work-groups of {required:?}, not {local:?}"))
                .remedy("leave the work-group size out"));
        }
        if required.iter().skip(dimensions).any(|size| *size != 1) {
            return Err(bad(format!(
                "the kernel requires work-groups of {required:?}, the range has {dimensions} dimensions"
            )));
        }
    }
    if local.contains(&0) {
        return Err(bad(format!("work-groups of {local:?} have no work-item")));
    }
    if local.iter().zip(limits.max_work_item_sizes).any(|(size, max)| *size > max) {
        return Err(bad(format!(
            "work-groups of {local:?}, the device takes at most {:?}",
            limits.max_work_item_sizes
        )));
    }
    let max = demands.max_work_group_size.min(limits.max_work_group_size);
    if local.iter().try_fold(1_usize, |total, size| total.checked_mul(*size)).is_none_or(|total| total > max)
    {
        return Err(bad(format!(
            "work-groups of {local:?}, the kernel runs with at most {max} work-items on this device"
        )));
    }
    Ok(())
}

fn bad(message: String) -> Error {
    Error::new(ErrorKind::NdRange, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(non_uniform: bool) -> Limits {
        let mut limits = Limits::default();
        limits.max_work_group_size = 256;
        limits.max_work_item_sizes = [256, 256, 64];
        limits.non_uniform_work_groups = non_uniform;
        limits
    }

    fn run(range: impl Into<NdRange>, required: Option<[u32; 3]>) -> Result<Option<WorkSize>> {
        let demands = Demands { required, uniform: false, max_work_group_size: 128 };
        check_against(&range.into(), demands, &limits(false))
    }

    #[track_caller]
    fn refused(range: impl Into<NdRange>, required: Option<[u32; 3]>, because: &str) {
        let error = run(range, required).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NdRange);
        assert!(error.to_string().contains(because), "{error}");
    }

    #[test]
    fn exchanges_need_groups_of_three() {
        let size = |global, local| WorkSize { dimensions: 3, global, local, offset: None };
        for (global, local) in [
            ([8, 1, 1], Some([2, 1, 1])),
            ([8, 1, 1], Some([1, 1, 1])),
            ([2, 1, 1], None),
            // A prime number beyond the largest group.
            ([257, 1, 1], None),
        ] {
            let error = check_exchange(&size(global, local), &limits(false)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NdRange);
            assert!(format!("{error}").contains("at least three work-items"), "{error}");
        }
        for (global, local) in
            [([9, 1, 1], Some([3, 1, 1])), ([2, 2, 1], None), ([257, 4, 1], None), ([12, 1, 1], None)]
        {
            check_exchange(&size(global, local), &limits(false)).unwrap();
        }
    }

    #[test]
    fn what_fits_passes() {
        let size = run(NdRange::new([64, 6], [32, 2]).with_offset([5, 0]), None).unwrap().unwrap();
        assert_eq!(
            size,
            WorkSize { dimensions: 2, global: [64, 6, 1], local: Some([32, 2, 1]), offset: Some([5, 0, 0]) }
        );
        assert_eq!(run(7, None).unwrap().unwrap().local, None);
    }

    #[test]
    fn empty_ranges_run_nothing_but_are_checked() {
        assert_eq!(run(0, None).unwrap(), None);
        assert_eq!(run([4, 0, 4], None).unwrap(), None);
        assert_eq!(run(NdRange::new(0, 8), None).unwrap(), None);
        refused(NdRange::new(0, 0), None, "no work-item");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        refused(NdRange::new(64, [8, 8]), None, "dimensions");
        refused(NdRange::new(64, 0), None, "no work-item");
        refused(NdRange::new(64, 129), None, "at most 128");
        refused(NdRange::new([64, 64], [64, 4]), None, "at most 128");
        refused(NdRange::new([1, 1, 128], [1, 1, 128]), None, "[256, 256, 64]");
        refused(NdRange::new(65, 32), None, "whole number");
        refused([usize::MAX, 2], None, "counted");
        refused(NdRange::from(16).with_offset(usize::MAX - 3), None, "too large");
    }

    #[test]
    fn partial_groups_run_where_the_device_and_the_program_have_them() {
        let range = NdRange::new(65, 32);
        let demands = |uniform| Demands { required: None, uniform, max_work_group_size: 128 };
        assert!(check_against(&range, demands(false), &limits(true)).unwrap().is_some());
        let error = check_against(&range, demands(true), &limits(true)).unwrap_err();
        assert!(error.to_string().contains("non_uniform_work_groups(true)"), "{error}");
    }

    #[test]
    fn required_sizes_are_kept() {
        assert_eq!(run(64, Some([32, 1, 1])).unwrap().unwrap().local, Some([32, 1, 1]));
        assert_eq!(run(NdRange::new(64, 32), Some([32, 1, 1])).unwrap().unwrap().local, Some([32, 1, 1]));
        refused(NdRange::new(64, 16), Some([32, 1, 1]), "requires");
        refused(64, Some([8, 8, 1]), "dimensions");
        refused(65, Some([32, 1, 1]), "whole number");
    }
}
