// What the build script of a program writes for its kernels, as the examples of the documentation use it. Nobody runs them, so it has no
// images. They include it as a module.

/// The images of the program.
pub static IMAGES: oclave::kernel::ImageTable = oclave::kernel::ImageTable::generated("kernels", &[]);

pub mod saxpy {
    use oclave::kernel::{Kernel, KernelCall, KernelPointer, KernelPointerMut, KernelValue};

    /// `kernel void saxpy(float alpha, const global float *x, global float *y)`.
    pub fn saxpy(
        alpha: impl KernelValue<f32>,
        x: impl KernelPointer<f32>,
        y: impl KernelPointerMut<f32>,
    ) -> KernelCall {
        static KERNEL: Kernel = Kernel::new(&super::IMAGES, "saxpy");
        KernelCall::new(&KERNEL).value(alpha).pointer(x).pointer_mut(y)
    }
}

pub mod numbers {
    use oclave::kernel::{Kernel, KernelCall, KernelPointerMut, KernelValue};

    /// `kernel void number(global uint *values, uint first)`.
    pub fn number(values: impl KernelPointerMut<u32>, first: impl KernelValue<u32>) -> KernelCall {
        static KERNEL: Kernel = Kernel::new(&super::IMAGES, "number");
        KernelCall::new(&KERNEL).pointer_mut(values).value(first)
    }
}

pub mod images {
    use oclave::images::{D2, KernelImage};
    use oclave::kernel::{Kernel, KernelCall};

    /// `kernel void brighten(read_only image2d_t from, write_only image2d_t to)`.
    pub fn brighten(from: impl KernelImage<D2>, to: impl KernelImage<D2>) -> KernelCall {
        static KERNEL: Kernel = Kernel::new(&super::IMAGES, "brighten");
        KernelCall::new(&KERNEL).read_image(from).write_image(to)
    }
}

pub mod globals {
    use oclave::kernel::DeviceGlobal;
    use oclave::kernel::host_access::ReadWrite;

    /// Device global `counter`, `int`.
    pub static COUNTER: DeviceGlobal<i32, ReadWrite> = DeviceGlobal::new(&super::IMAGES, "counter");
    /// Device global `histogram`, `uint[8]`.
    pub static HISTOGRAM: DeviceGlobal<[u32; 8], ReadWrite> = DeviceGlobal::new(&super::IMAGES, "histogram");
}
