//! Tone curves: the steps of the chain of polymorphic filters in
//! `examples/filters/kernels/tones.clcpp`.

use super::kernels::tones::is_tone;

/// Bytes between the objects of the chain; none is larger.
pub(crate) const TONE_BYTES: usize = 32;

/// A step, as the class of the same name in the kernels computes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    /// `value * factor / 256 + offset`.
    Gain { factor: i32, offset: i32 },
    /// No value outside of `low` to `high`.
    Clip { low: i32, high: i32 },
    /// A negative.
    Invert,
    /// Multiples of `step` only.
    Posterize { step: i32 },
}

impl Tone {
    /// Its class and its two parameters, as `build_tones` reads them.
    pub(crate) fn numbers(self) -> [i32; 3] {
        match self {
            Self::Gain { factor, offset } => [0, factor, offset],
            Self::Clip { low, high } => [1, low, high],
            Self::Invert => [2, 0, 0],
            Self::Posterize { step } => [3, step, 0],
        }
    }

    /// Whether the kernel makes an object of it: the kernel asks the same function.
    fn is_sound(self) -> bool {
        let [kind, a, b] = self.numbers();
        is_tone(kind, a, b)
    }

    /// What the filter's `apply` gives.
    pub(crate) fn apply(self, value: i32) -> i32 {
        match self {
            Self::Gain { factor, offset } => value * factor / 256 + offset,
            Self::Clip { low, high } => value.max(low).min(high),
            Self::Invert => 255 - value,
            Self::Posterize { step } => value / step * step,
        }
    }
}

/// Reads a chain from the command line: `gain=FACTOR:OFFSET`, `clip=LOW:HIGH`, `invert`,
/// `posterize=STEP`, separated by commas.
pub(crate) fn parse(text: &str) -> Result<Vec<Tone>, String> {
    text.split(',').map(step).collect()
}

fn step(text: &str) -> Result<Tone, String> {
    let (kind, numbers) = text.split_once('=').unwrap_or((text, ""));
    let numbers: Option<Vec<i32>> =
        numbers.split(':').filter(|number| !number.is_empty()).map(|number| number.parse().ok()).collect();
    let tone = match (kind, numbers.as_deref()) {
        ("gain", Some(&[factor, offset])) => Some(Tone::Gain { factor, offset }),
        ("clip", Some(&[low, high])) => Some(Tone::Clip { low, high }),
        ("invert", Some([])) => Some(Tone::Invert),
        ("posterize", Some(&[step])) => Some(Tone::Posterize { step }),
        _ => None,
    };
    tone.filter(|tone| tone.is_sound()).ok_or_else(|| {
        format!(
            "{text:?} is no tone; there are gain=FACTOR:OFFSET, clip=LOW:HIGH, invert and posterize=STEP, numbers from \
             -4096 to 4096, the step at least 1"
        )
    })
}
