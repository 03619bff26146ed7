//! The outer solar system, and its motion in plain Rust.

/// In astronomical units and days. Masses are relative to the sun, including the inner planets. The
/// positions are of 5 September 1994, 0 h, relative to the barycentre near the sun. Source: Hairer,
/// Lubich, Wanner, "Geometric Numerical Integration", section I.2.4, after Ahnerts Kalender für
/// Sternfreunde 1994.
const PLANETS: [Planet; 6] = [
    Planet { mass: 1.000_005_976_82, at: [0.0; 3], velocity: [0.0; 3] },
    // Jupiter
    Planet {
        mass: 0.000_954_786_104_043,
        at: [-3.502_365_3, -3.816_984_7, -1.550_796_3],
        velocity: [0.005_654_29, -0.004_124_90, -0.001_905_89],
    },
    // Saturn
    Planet {
        mass: 0.000_285_583_733_151,
        at: [9.075_531_4, -3.045_835_3, -1.648_370_8],
        velocity: [0.001_683_18, 0.004_835_25, 0.001_924_62],
    },
    // Uranus
    Planet {
        mass: 0.000_043_727_316_454_6,
        at: [8.310_142_0, -16.290_108_6, -7.252_127_8],
        velocity: [0.003_541_78, 0.001_371_02, 0.000_550_29],
    },
    // Neptune
    Planet {
        mass: 0.000_051_775_913_844_9,
        at: [11.470_766_6, -25.729_482_9, -10.816_945_6],
        velocity: [0.002_889_30, 0.001_145_27, 0.000_396_77],
    },
    // Pluto
    Planet {
        mass: 1.0 / 1.3e8,
        at: [-15.538_735_7, -25.222_559_4, -3.190_238_2],
        velocity: [0.002_767_25, -0.001_707_02, -0.001_365_04],
    },
];
const GRAVITATION: f64 = 2.959_122_082_86e-4;

struct Planet {
    mass: f64,
    at: [f64; 3],
    velocity: [f64; 3],
}

/// Bodies, the massive ones first; the others are pulled and pull nobody.
#[derive(Debug, Clone)]
pub(crate) struct System {
    pub(crate) positions: Vec<f64>,
    pub(crate) velocities: Vec<f64>,
    pub(crate) gm: Vec<f64>,
}

impl System {
    /// Sun and planets, with so many asteroids between Jupiter and Saturn and beyond, on circles.
    pub(crate) fn new(asteroids: usize) -> Self {
        let planets = PLANETS.iter();
        let mut system = Self {
            positions: planets.clone().flat_map(|planet| planet.at).collect(),
            velocities: planets.clone().flat_map(|planet| planet.velocity).collect(),
            gm: planets.map(|planet| planet.mass * GRAVITATION).collect(),
        };
        for i in 0..asteroids {
            let radius = 6.0 + 0.35 * i as f64;
            let angle = 2.4 * i as f64;
            let speed = (GRAVITATION / radius).sqrt();
            system.positions.extend([radius * angle.cos(), radius * angle.sin(), 0.0]);
            system.velocities.extend([-speed * angle.sin(), speed * angle.cos(), 0.0]);
        }
        system
    }

    pub(crate) fn bodies(&self) -> usize {
        self.positions.len() / 3
    }

    /// One step of the leapfrog: drift, kick, drift.
    pub(crate) fn step(&mut self, days: f64) {
        self.drift(days / 2.0);
        self.kick(days);
        self.drift(days / 2.0);
    }

    fn drift(&mut self, days: f64) {
        for (position, velocity) in self.positions.iter_mut().zip(&self.velocities) {
            *position += days * velocity;
        }
    }

    fn kick(&mut self, days: f64) {
        let positions = &self.positions;
        for (at, velocity) in positions.chunks_exact(3).zip(self.velocities.chunks_exact_mut(3)) {
            for (other, gm) in positions.chunks_exact(3).zip(&self.gm) {
                let d: Vec<f64> = other.iter().zip(at).map(|(other, at)| other - at).collect();
                let square: f64 = d.iter().map(|d| d * d).sum();
                if square > 0.0 {
                    let pull = gm / (square * square.sqrt());
                    velocity.iter_mut().zip(d).for_each(|(velocity, d)| *velocity += days * pull * d);
                }
            }
        }
    }

    /// The energy of the massive bodies over the constant of gravitation: it stays as it is but for
    /// what a step neglects.
    pub(crate) fn energy(&self) -> f64 {
        let bodies: Vec<(&[f64], &[f64], f64)> = self
            .positions
            .chunks_exact(3)
            .zip(self.velocities.chunks_exact(3))
            .zip(&self.gm)
            .map(|((at, velocity), gm)| (at, velocity, *gm))
            .collect();
        let mut energy = 0.0;
        for (i, (at, velocity, gm)) in bodies.iter().enumerate() {
            energy += gm * velocity.iter().map(|v| v * v).sum::<f64>() / 2.0;
            for (other, _, other_gm) in bodies.iter().take(i) {
                let square: f64 = at.iter().zip(*other).map(|(a, b)| (a - b) * (a - b)).sum();
                energy -= gm * other_gm / square.sqrt();
            }
        }
        energy
    }

    /// The largest distance between a coordinate here and there.
    pub(crate) fn distance(&self, other: &Self) -> f64 {
        let pairs = self.positions.iter().zip(&other.positions);
        pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }
}
