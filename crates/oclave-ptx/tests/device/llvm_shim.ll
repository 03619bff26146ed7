; What libclc's module for NVIDIA has under other names than llvm-spirv gives it: for the comparison with LLVM's PTX
; (ci/ptx-pack). Generic pointers are LLVM's plain ones.
target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-nvcl"

define void @_Z7vstore2Dv2_imPU3AS4i(<2 x i32> %value, i64 %index, ptr %to) alwaysinline {
  %place = getelementptr <2 x i32>, ptr %to, i64 %index
  store <2 x i32> %value, ptr %place, align 4
  ret void
}

define void @_Z7vstore4Dv4_imPU3AS4i(<4 x i32> %value, i64 %index, ptr %to) alwaysinline {
  %place = getelementptr <4 x i32>, ptr %to, i64 %index
  store <4 x i32> %value, ptr %place, align 4
  ret void
}

declare i64 @llvm.cttz.i64(i64, i1)

define i64 @_Z3ctzl(i64 %value) alwaysinline {
  %count = call i64 @llvm.cttz.i64(i64 %value, i1 false)
  ret i64 %count
}

define i64 @_Z3ctzm(i64 %value) alwaysinline {
  %count = call i64 @llvm.cttz.i64(i64 %value, i1 false)
  ret i64 %count
}
