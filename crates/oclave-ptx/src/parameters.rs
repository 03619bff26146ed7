//! How a kernel's pointers to global memory are declared.

/// Begins the declaration of a pointer to global memory; alignment and name follow.
pub(crate) const GLOBAL_POINTER: &str = ".param .u64 .ptr .global .align ";

/// PTX of this crate, with each kernel's pointers to global memory as plain numbers.
///
/// As [`translate`](crate::translate) writes it, a pointer is set by `clSetKernelArgSVMPointer`, or
/// by `clSetKernelArg` with a `cl_mem`. As a number, it is set by `clSetKernelArg` with the eight
/// bytes of its address. NVIDIA's driver then does less at each launch. Pointers to local memory
/// stay.
pub fn with_addresses_as_numbers(ptx: &str) -> String {
    let mut text = String::with_capacity(ptx.len());
    for line in ptx.split_inclusive('\n') {
        let declared = line.strip_prefix('\t').and_then(|line| line.strip_prefix(GLOBAL_POINTER));
        match declared.and_then(|declared| declared.split_once(' ')) {
            Some((_, name)) => {
                text.push_str("\t.param .u64 ");
                text.push_str(name);
            }
            None => text.push_str(line),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pointers_to_global_memory_become_numbers() {
        let kernel = ".entry k(\n\t.param .u64 .ptr .global .align 4 k_param_0,\n\t.param .u32 k_param_1,\n\
                      \t.param .u64 .ptr .shared .align 128 k_param_2,\n\
                      \t.param .u64 .ptr .global .align 16 k_param_3\n)\n{\n\tret;\n}\n";
        let expected = ".entry k(\n\t.param .u64 k_param_0,\n\t.param .u32 k_param_1,\n\
                        \t.param .u64 .ptr .shared .align 128 k_param_2,\n\
                        \t.param .u64 k_param_3\n)\n{\n\tret;\n}\n";
        assert_eq!(with_addresses_as_numbers(kernel), expected);
        assert_eq!(with_addresses_as_numbers(expected), expected);
    }
}
