//! The same in plain Rust.

/// A square grid; vectors have zeroes around it, as the kernels want them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub(crate) size: usize,
}

impl Grid {
    /// Of a row, with 8 zeroes on either side.
    pub(crate) fn width(self) -> usize {
        self.size + 16
    }

    /// Of a vector, with a row of zeroes above and below.
    pub(crate) fn len(self) -> usize {
        self.width() * (self.size + 2)
    }

    /// The places of the values.
    fn places(self) -> impl Iterator<Item = usize> {
        (0..self.size).flat_map(move |y| (0..self.size).map(move |x| (y + 1) * self.width() + 8 + x))
    }

    /// Sources of heat here and there.
    pub(crate) fn right_side(self) -> Vec<f32> {
        let mut values = vec![0.0; self.len()];
        for (number, place) in self.places().enumerate() {
            values[place] = match number * 7919 % 101 {
                0..5 => 1.0,
                5..8 => -2.0,
                _ => 0.01,
            };
        }
        values
    }
}

pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The solution, and how many steps it took.
pub(crate) fn solve(grid: Grid, right_side: &[f32], enough: f32) -> (Vec<f32>, u32) {
    let width = grid.width();
    let (mut x, mut q) = (vec![0.0; grid.len()], vec![0.0; grid.len()]);
    let (mut r, mut p) = (right_side.to_vec(), right_side.to_vec());
    let (mut rr, mut steps) = (dot(&r, &r), 0);
    while rr > enough {
        for place in grid.places() {
            q[place] = 4.0 * p[place] - p[place - 1] - p[place + 1] - p[place - width] - p[place + width];
        }
        let alpha = rr / dot(&p, &q);
        for place in grid.places() {
            x[place] += alpha * p[place];
            r[place] -= alpha * q[place];
        }
        let now = dot(&r, &r);
        for place in grid.places() {
            p[place] = r[place] + now / rr * p[place];
        }
        rr = now;
        steps += 1;
    }
    (x, steps)
}
