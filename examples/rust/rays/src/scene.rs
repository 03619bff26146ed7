//! What rays hit.

use glam::{Vec3, Vec4, Vec4Swizzles};

pub(crate) struct Ball {
    place: Vec3,
    radius: f32,
}

pub(crate) struct Hit {
    pub(crate) distance: f32,
    pub(crate) normal: Vec3,
}

impl Ball {
    pub(crate) fn new(ball: &[f32; 4]) -> Self {
        let ball = Vec4::from_array(*ball);
        Self { place: ball.xyz(), radius: ball.w }
    }

    /// Where a ray from the origin hits the ball.
    pub(crate) fn hit(&self, ray: Vec3) -> Option<Hit> {
        let along = self.place.dot(ray);
        let square = along * along - self.place.length_squared() + self.radius * self.radius;
        if square < 0.0 {
            return None;
        }
        let distance = along - libm::sqrtf(square);
        let normal = (ray * distance - self.place) / self.radius;
        (distance > 0.0).then_some(Hit { distance, normal })
    }
}
