//! The device that PTX is for.

use std::fmt;
use std::str::FromStr;

/// A compute capability, and how exact arithmetic is where OpenCL leaves a choice.
///
/// ```
/// use oclave_ptx::PtxTarget;
/// let target: PtxTarget = "sm_90".parse()?;
/// assert_eq!(target, PtxTarget::new(9, 0)?);
/// # Ok::<(), String>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct PtxTarget {
    /// `CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV`.
    pub major: u32,
    /// `CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV`.
    pub minor: u32,
    /// Whether divisions and square roots of `float` are correctly rounded, as
    /// `-cl-fp32-correctly-rounded-divide-sqrt` asks for; true unless changed.
    ///
    /// Without it, errors are at most 2 ulp, within OpenCL's limits.
    pub precise_division: bool,
}

/// The oldest compute capability with PTX's memory model and independent threads.
const OLDEST: (u32, u32) = (7, 0);

impl PtxTarget {
    /// The target of a compute capability.
    ///
    /// # Errors
    /// A message for devices before 7.0, whose memory model differs.
    pub fn new(major: u32, minor: u32) -> Result<Self, String> {
        if (major, minor) < OLDEST || major > 99 || minor > 9 {
            return Err(format!(
                "compute capability {major}.{minor} is not supported: PTX is made for 7.0 (Volta) and newer"
            ));
        }
        Ok(Self { major, minor, precise_division: true })
    }

    /// The PTX version: the first one that knows the compute capability, and at least 6.4, so that
    /// old drivers take it.
    pub(crate) fn version(self) -> &'static str {
        match self.major * 10 + self.minor {
            ..80 => "6.4",
            80 => "7.0",
            81..87 => "7.1",
            87 => "7.4",
            89 | 90 => "7.8",
            100 | 101 => "8.6",
            120 => "8.7",
            103 | 121 => "8.8",
            // Newer ones may need more, but nobody knows it yet.
            _ => "9.0",
        }
    }

    /// Whether the device's compute capability is at least this.
    pub(crate) fn at_least(self, major: u32, minor: u32) -> bool {
        (self.major, self.minor) >= (major, minor)
    }
}

/// `sm_90`.
impl fmt::Display for PtxTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.major, self.minor)
    }
}

impl FromStr for PtxTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number: Option<u32> = text
            .strip_prefix("sm_")
            .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))
            .and_then(|digits| digits.parse().ok());
        match number {
            Some(number) => Self::new(number / 10, number % 10),
            None => Err(format!("`{text}` is no compute capability: write sm_70, sm_80, sm_90 …")),
        }
    }
}
