//! The language of the source, as the translator takes it.
//!
//! From LLVM 19 on, the translator replaces built-in functions by SPIR-V's instructions only in
//! modules of OpenCL C. In those of C++ for OpenCL they stay calls of functions that no module
//! defines. The kernels are the same in both languages, except for the name of `printf`. In C++ it
//! is mangled, and the translator looks for a parameter in place of the dots.

use super::Ir;

/// Says that a module is one of C++ for OpenCL. Its version of OpenCL stands beside it and stays.
const CXX: &str = "!opencl.cxx.version = ";

/// `printf` of C++. Translators for typed pointers know it.
const PRINTF: &str = "@_Z6printfPU3AS2Kcz(";

/// Makes all modules ones of OpenCL C.
pub(super) fn call_it_c(ir: &mut Ir) {
    ir.lines.retain(|line| !line.starts_with(CXX));
    for line in ir.lines.iter_mut().filter(|line| line.contains(PRINTF) && line.contains("ptr addrspace(2)"))
    {
        *line = line.replace(PRINTF, "@printf(");
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn printf_has_its_name_of_c() {
        let line = |name| format!("declare i32 @{name}(ptr addrspace(2) noundef, ...)\n");
        assert_eq!(crate::ir::mend(&line("_Z6printfPU3AS2Kcz")).text, line("printf"));
        let typed = "declare i32 @_Z6printfPU3AS2Kcz(i8 addrspace(2)*, ...)\n";
        assert_eq!(crate::ir::mend(typed).text, typed);
    }

    #[test]
    fn only_the_version_of_c_plus_plus_goes() {
        let text = "!opencl.ocl.version = !{!2}\n!opencl.cxx.version = !{!3}\n!2 = !{i32 3, i32 0}\n!3 = !{i32 2021, i32 0}\n";
        let mended = crate::ir::mend(text).text;
        assert_eq!(mended, text.replace("!opencl.cxx.version = !{!3}\n", ""));
    }
}
