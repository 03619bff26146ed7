; Memory of a work-group, for llvm_shim.cl: functions of OpenCL C can have none.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-nvcl"

@scratch = internal addrspace(3) global [1024 x i32] undef, align 4

define ptr addrspace(3) @shim_scratch() alwaysinline {
  ret ptr addrspace(3) @scratch
}
