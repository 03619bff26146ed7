//! The language of the source, as the translator takes it.
//!
//! From LLVM 19 on, the translator replaces built-in functions by SPIR-V's instructions only in modules of OpenCL C. In
//! those of C++ for OpenCL they stay calls of functions that no module defines. The kernels are the same in both.

use super::Ir;

/// Says that a module is one of C++ for OpenCL. Its version of OpenCL stands beside it and stays.
const CXX: &str = "!opencl.cxx.version = ";

/// Makes all modules ones of OpenCL C.
pub(super) fn call_it_c(ir: &mut Ir) {
    ir.lines.retain(|line| !line.starts_with(CXX));
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_the_version_of_c_plus_plus_goes() {
        let text = "!opencl.ocl.version = !{!2}\n!opencl.cxx.version = !{!3}\n!2 = !{i32 3, i32 0}\n!3 = !{i32 2021, i32 0}\n";
        let mended = crate::ir::mend(text).text;
        assert_eq!(mended, text.replace("!opencl.cxx.version = !{!3}\n", ""));
    }
}
