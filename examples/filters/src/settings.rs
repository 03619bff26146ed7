//! The parameters of the pipeline, in the fixed-point units of the kernels.

use super::tones::Tone;

/// Largest blur radius, as in `examples/filters/kernels/filters.h`.
pub(crate) const MAX_RADIUS: i32 = 15;

/// The user's settings. Most fields become device globals, and the tones become objects in device
/// memory. The strength is an argument, and the percentage belongs to the host task: both change
/// from frame to frame.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    /// Weights of red, green and blue, in 1/256.
    pub(crate) luma_weights: [i32; 3],
    /// What happens to each luminance, in order; at least one step.
    pub(crate) tones: Vec<Tone>,
    /// Radius of the Gaussian blur, pixels, 0 to [`MAX_RADIUS`].
    pub(crate) blur_radius: i32,
    /// Factor on the gradient, in 1/256.
    pub(crate) edge_strength: i32,
    /// The strongest part of the pixels that counts as edges, in percent.
    pub(crate) edge_percent: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            luma_weights: [77, 150, 29],
            tones: vec![Tone::Gain { factor: 288, offset: -12 }, Tone::Clip { low: 8, high: 247 }],
            blur_radius: 3,
            edge_strength: 384,
            edge_percent: 10,
        }
    }
}

impl Settings {
    /// Those of a frame: the strength of the edges and their part rise and fall again.
    pub(crate) fn of_frame(&self, frame: usize) -> Self {
        let phase = [0, 1, 2, 1][frame % 4];
        Self {
            edge_strength: self.edge_strength + 32 * phase,
            edge_percent: (self.edge_percent + 2 * phase as u32).min(100),
            ..self.clone()
        }
    }

    /// One weight a tap, in 1/65536, of a Gaussian with a standard deviation of half the radius;
    /// they add up to 65536.
    pub(crate) fn blur_weights(&self) -> [i32; 2 * MAX_RADIUS as usize + 1] {
        let mut weights = [0; 2 * MAX_RADIUS as usize + 1];
        let sigma = f64::from(self.blur_radius).max(1.0) / 2.0;
        let bell = |tap: i32| (-f64::from(tap * tap) / (2.0 * sigma * sigma)).exp();
        let total: f64 = (-self.blur_radius..=self.blur_radius).map(bell).sum();
        for (weight, tap) in weights.iter_mut().zip(-self.blur_radius..=self.blur_radius) {
            *weight = (bell(tap) / total * 65536.0).round() as i32;
        }
        weights[self.blur_radius as usize] += 65536 - weights.iter().sum::<i32>();
        weights
    }

    /// The lowest level such that at most `edge_percent` of the pixels lie at or above it; at least 1.
    pub(crate) fn threshold(&self, histogram: &[u32]) -> u8 {
        let pixels: u64 = histogram.iter().copied().map(u64::from).sum();
        let allowed = pixels * u64::from(self.edge_percent) / 100;
        let mut above = 0;
        for (level, &count) in histogram.iter().enumerate().skip(1).rev() {
            above += u64::from(count);
            if above > allowed {
                return (level + 1).min(255) as u8;
            }
        }
        1
    }
}
