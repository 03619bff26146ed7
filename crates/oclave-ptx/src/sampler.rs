//! Samplers that kernels have in themselves.

use std::fmt;

use oclave_spirv::Instruction;

use crate::error::{Step, need};

/// The state of a literal sampler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sampler {
    addressing: u32,
    normalized: bool,
    linear: bool,
}

impl Sampler {
    /// What images are read with where there is no sampler.
    pub(crate) const NONE: Self = Self { addressing: 0, normalized: false, linear: false };

    /// The state that an `OpConstantSampler` has.
    pub(crate) fn of(constant: &Instruction<'_>) -> Step<Self> {
        let operand = |index| need(constant.operand(index));
        Ok(Self { addressing: operand(0)?, normalized: operand(1)? == 1, linear: operand(2)? == 1 })
    }
}

/// As PTX has it behind the equals sign.
impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In the order of SPIR-V's numbers. Without a mode, the kernel stays within the image.
        let mode = match self.addressing {
            2 => "clamp_to_border",
            3 => "wrap",
            4 => "mirror",
            _ => "clamp_to_edge",
        };
        let filter = if self.linear { "linear" } else { "nearest" };
        write!(
            f,
            "{{ addr_mode_0 = {mode}, addr_mode_1 = {mode}, addr_mode_2 = {mode}, filter_mode = {filter}"
        )?;
        f.write_str(if self.normalized { " }" } else { ", force_unnormalized_coords = 1 }" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_written_as_the_driver_writes_them() {
        let repeat = Sampler { addressing: 3, normalized: true, linear: true };
        assert_eq!(
            repeat.to_string(),
            "{ addr_mode_0 = wrap, addr_mode_1 = wrap, addr_mode_2 = wrap, filter_mode = linear }"
        );
        let none = Sampler::NONE.to_string();
        assert!(none.contains("addr_mode_0 = clamp_to_edge") && none.contains("nearest"), "{none}");
        assert!(none.ends_with(", force_unnormalized_coords = 1 }"), "{none}");
        for (addressing, mode) in [(1, "clamp_to_edge"), (2, "clamp_to_border"), (4, "mirror")] {
            let text = Sampler { addressing, ..repeat }.to_string();
            assert_eq!(text.matches(mode).count(), 3, "{text}");
        }
    }
}
