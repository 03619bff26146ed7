//! Copies and fills of boxes as kernels of their own, for callers that launch a single one.

use super::emit::{Body, builtin_variable};
use super::own_tasks::{ALL, ByteBox, copy_of, fill_of, items};
use crate::Result;
use oclave_spirv::{BuiltIn, Capability, Definitions, Editor, Module, Version};

/// A launch of a kernel of [`box_kernels`]: an index space from 0 on, without groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoxLaunch {
    /// The kernel's name.
    pub kernel: &'static str,
    /// The arguments behind the pointers: where it writes, and where it reads if it is a copy.
    pub pitches: Vec<u64>,
    /// The last argument of a fill.
    pub pattern: Option<Vec<u8>>,
    /// Its index space.
    pub items: [u64; 3],
}

impl BoxLaunch {
    /// The names of the kernels.
    pub const KERNELS: [&'static str; 8] = [
        "__oclave_copy_box_16",
        "__oclave_copy_box_4",
        "__oclave_copy_box_1",
        "__oclave_fill_box_16",
        "__oclave_fill_box_8",
        "__oclave_fill_box_4",
        "__oclave_fill_box_2",
        "__oclave_fill_box_1",
    ];

    /// Copies bytes from one address to another. They must not overlap.
    pub fn copy(to: u64, from: u64, of: &ByteBox) -> Option<Self> {
        let (index, width, pitches) = copy_of(to, from, of)?;
        let kernel = Self::KERNELS.get(index)?;
        Some(Self { kernel, pitches, pattern: None, items: items(of, width) })
    }

    /// Fills bytes with a pattern again and again; `None` where no kernel does that with such a
    /// pattern, or where address or extent are no multiples of its length.
    pub fn fill(to: u64, pattern: &[u8], of: &ByteBox) -> Option<Self> {
        let (index, width, pitches, element) = fill_of(to, pattern, of)?;
        let kernel = Self::KERNELS.get(index)?;
        Some(Self { kernel, pitches, pattern: Some(element), items: items(of, width) })
    }
}

/// A module with a kernel for each width of elements, all others' names beginning with `__oclave_`
/// too:
///
/// ```text
/// kernel void __oclave_copy_box_4(global uint *to, global uint *from, ulong to_row, ulong to_slice, ulong from_row, ulong from_slice)
/// kernel void __oclave_fill_box_4(global uint *to, ulong row, ulong slice, uint value)
/// ```
/// A work-item moves the element at its place in the box; pitches are in elements. [`BoxLaunch`]
/// chooses one.
///
/// # Errors
/// As [`Editor::finish`].
pub fn box_kernels() -> Result<Module> {
    let empty = Module::empty(Version::V1_0);
    let definitions = Definitions::new(&empty);
    let mut new = Editor::new(&definitions);
    new.kernel_header(&[
        Capability::Kernel,
        Capability::Addresses,
        Capability::Int8,
        Capability::Int16,
        Capability::Int64,
        Capability::Vector16,
    ]);
    let item = builtin_variable(&mut new, BuiltIn::GlobalInvocationId);
    for (kind, name) in ALL.into_iter().zip(BoxLaunch::KERNELS) {
        let function = new.fresh_id();
        let types = kind.types(&mut new);
        let parameters = kind.parameters(&mut new, types);
        let (mut body, mut ids, _) = Body::new(&mut new, function, &parameters, &[]);
        ids.extend(body.components(item));
        kind.write(&mut body, &ids, types);
        body.finish();
        new.entry_point(function, name, &[item]);
    }
    Ok(new.finish()?.unwrap_or(empty))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::build::signatures::signatures;
    use oclave_spirv::check;

    #[test]
    fn the_module_is_sound_and_has_every_kernel_that_is_chosen() {
        let module = box_kernels().unwrap();
        check::check(&module).unwrap();
        let kernels = signatures(&module).unwrap();
        let of = ByteBox { extent: [16, 3, 2], to_pitch: [20, 60], from_pitch: [16, 48] };
        let copy = BoxLaunch::copy(0, 0, &of).unwrap();
        assert_eq!((copy.kernel, copy.items), ("__oclave_copy_box_4", [4, 3, 2]));
        assert_eq!(copy.pitches, [5, 15, 4, 12]);
        let fill = BoxLaunch::fill(0, &[7, 8], &of).unwrap();
        assert_eq!((fill.kernel, fill.items), ("__oclave_fill_box_4", [4, 3, 2]));
        assert_eq!((fill.pitches, fill.pattern), (vec![5, 15], Some(vec![7, 8, 7, 8])));
        assert_eq!(BoxLaunch::fill(0, &[1, 2, 3], &of), None);
        for name in BoxLaunch::KERNELS {
            let kernel = kernels.iter().find(|kernel| kernel.name == name).unwrap();
            assert_eq!(kernel.parameters.len(), if name.contains("copy") { 6 } else { 4 });
        }
        assert_eq!(kernels.len(), BoxLaunch::KERNELS.len());
    }
}
