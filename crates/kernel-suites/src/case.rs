//! A case: memory with contents, launches that use it, and a check of the results.

/// A case of a program.
pub(crate) struct Case {
    /// Unique within its program.
    pub name: String,
    /// Arguments refer to these by index.
    pub memory: Vec<Memory>,
    /// In order. Each launch sees the results of those before it.
    pub launches: Vec<Launch>,
    /// Checks the final contents of all memory.
    pub check: Check,
}

/// Checks the final contents of all memory, in the order of [`Case::memory`]. The error says what is
/// wrong.
pub(crate) type Check = Box<dyn Fn(&[Vec<u8>]) -> Result<(), String>>;

/// Memory with its contents before the first launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Memory {
    /// A buffer.
    Buffer(Vec<u8>),
    /// A two-dimensional image.
    Image {
        /// In pixels.
        width: usize,
        /// In pixels.
        height: usize,
        /// By OpenCL's name without `CL_`: `RGBA`.
        order: String,
        /// By OpenCL's name without `CL_`: `UNORM_INT8`.
        channel: String,
        /// Whether kernels write it. Otherwise, they read it.
        is_written: bool,
        /// Rows without padding.
        pixels: Vec<u8>,
    },
}

/// A launch of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Launch {
    /// Its name in the source.
    pub kernel: String,
    /// All arguments, in the order of the parameters.
    pub arguments: Vec<Argument>,
    /// The work-items.
    pub space: Space,
}

/// An argument of a launch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A value of a scalar, vector or struct type.
    Value(Vec<u8>),
    /// Memory of the case, by its index.
    Memory(usize),
    /// What `clSetKernelArg` means by a size without a value: so many bytes of local memory if the
    /// parameter is a pointer to local memory, and a null pointer if it is another pointer.
    NullOrLocal(usize),
    /// Local memory of a size in bytes.
    Local(usize),
    /// A sampler.
    Sampler {
        /// Whether coordinates are from 0 to 1.
        is_normalized: bool,
        /// OpenCL's name in lower case without `CL_ADDRESS_`: `clamp_to_edge`.
        addressing: String,
        /// Whether values between pixels are interpolated.
        is_linear: bool,
    },
}

/// The work-items of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    /// One to three.
    pub dimensions: usize,
    /// Work-items by dimension.
    pub global: [usize; 3],
    /// Work-items of a group by dimension; `None` leaves it to the driver.
    pub local: Option<[usize; 3]>,
    /// The first global id by dimension.
    pub offset: [usize; 3],
}

impl Space {
    /// `global` work-items in groups of `local`, in one dimension.
    pub(crate) fn d1(global: usize, local: usize) -> Self {
        Self { dimensions: 1, global: [global, 1, 1], local: Some([local, 1, 1]), offset: [0; 3] }
    }

    /// `global` work-items in groups of `local`, in two dimensions: x, y.
    pub(crate) fn d2(global: [usize; 2], local: [usize; 2]) -> Self {
        let local = Some([local[0], local[1], 1]);
        Self { dimensions: 2, global: [global[0], global[1], 1], local, offset: [0; 3] }
    }

    /// `global` work-items in groups of `local`, in three dimensions: x, y, z.
    pub(crate) fn d3(global: [usize; 3], local: [usize; 3]) -> Self {
        Self { dimensions: 3, global, local: Some(local), offset: [0; 3] }
    }
}

impl Argument {
    /// A scalar, vector or struct.
    pub(crate) fn value<T: bytemuck::NoUninit>(value: T) -> Self {
        Self::Value(bytemuck::bytes_of(&value).to_vec())
    }
}

impl Memory {
    /// A buffer of elements.
    pub(crate) fn of<T: bytemuck::NoUninit>(elements: &[T]) -> Self {
        Self::Buffer(bytemuck::cast_slice(elements).to_vec())
    }

    /// A buffer of `len` elements. Each byte is 0xCD.
    pub(crate) fn unset<T>(len: usize) -> Self {
        Self::Buffer(vec![0xCD; len * size_of::<T>()])
    }

    /// The contents before the first launch.
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Buffer(bytes) | Self::Image { pixels: bytes, .. } => bytes,
        }
    }
}

/// Bytes as elements. The bytes need no alignment.
pub(crate) fn elements<T: bytemuck::Pod>(bytes: &[u8]) -> Vec<T> {
    bytemuck::pod_collect_to_vec(bytes)
}

/// Compares a buffer with its expected elements, exactly.
///
/// # Errors
/// The first element that differs, and how many do.
pub(crate) fn expect_equal<T>(what: &str, got: &[u8], expected: &[T]) -> Result<(), String>
where
    T: bytemuck::Pod + PartialEq + std::fmt::Debug,
{
    let got: Vec<T> = elements(got);
    compare(what, &got, expected, |got, expected| got == expected)
}

/// Compares a buffer of floats with its expected elements. A difference may be `absolute`, or
/// `relative` times the expected element, whichever is larger.
///
/// # Errors
/// The first element that differs by more, and how many do.
pub(crate) fn expect_close(
    what: &str,
    got: &[u8],
    expected: &[f32],
    relative: f32,
    absolute: f32,
) -> Result<(), String> {
    let got: Vec<f32> = elements(got);
    compare(what, &got, expected, |got, expected| {
        got == expected
            || got.is_nan() && expected.is_nan()
            || (got - expected).abs() <= absolute.max(relative * expected.abs())
    })
}

fn compare<T: std::fmt::Debug>(
    what: &str,
    got: &[T],
    expected: &[T],
    is_same: impl Fn(&T, &T) -> bool,
) -> Result<(), String> {
    if got.len() < expected.len() {
        return Err(format!("{what} has {} elements, not {}", got.len(), expected.len()));
    }
    let mut wrong =
        got.iter().zip(expected).enumerate().filter(|(_, (got, expected))| !is_same(got, expected));
    let Some((at, (first, wanted))) = wrong.next() else { return Ok(()) };
    let more = wrong.count();
    Err(format!("{what}[{at}] is {first:?}, not {wanted:?}; {} of {} are wrong", more + 1, expected.len()))
}
