//! Zeroes that depend on the work-item, and values with such a zero added.
//!
//! Unlike a selection, a zero leaves compilers no condition to take out of a loop.

use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{emit, first_lane, hidden_zero};
use oclave_spirv::{Op, Rewriter, Type, TypeTable};

/// The ways to add a zero to a number.
const WAYS: [Op; 4] = [Op::IAdd, Op::BitwiseXor, Op::ISub, Op::BitwiseOr];

/// Zeroes of a function, which are made of ids of dimension 0.
pub(crate) struct Zeros {
    made: [u32; WAYS.len()],
    width: u32,
}

impl Zeros {
    /// Writes them.
    pub(crate) fn write(new: &mut Rewriter<'_>, local: &BuiltInVector) -> Self {
        let (id, width) = (local.load(new, 0), local.width);
        let ty = new.int_type(width);
        let made = std::array::from_fn(|number| {
            let number = new.int_constant(width, number as u64);
            let n = emit(new, Op::IAdd, ty, &[id, number]);
            hidden_zero(new, n, width)
        });
        Self { made, width }
    }

    /// Writes `result`, which is a number, a `bool` or a vector with a zero added. In a vector, only the
    /// first lane gets one. Gives `false` for other types, and writes nothing then.
    ///
    /// Values of one phi need different numbers. Compilers add what all values have in common behind the
    /// phi, and then have the phi of the values alone.
    pub(crate) fn add(
        &self,
        new: &mut Rewriter<'_>,
        types: &TypeTable<'_>,
        number: usize,
        [value, ty, result]: [u32; 3],
    ) -> bool {
        let is_vector = types.lane(ty) != ty;
        let (width, is_float) = match types.ty(types.lane(ty)) {
            Some(Type::Bool) => (0, false),
            Some(Type::Int { width }) => (width, false),
            Some(Type::Float { width }) => (width, true),
            _ => return false,
        };
        let (lane, lane_type) = first_lane(new, types, value, ty);
        let to = if is_vector { new.fresh_id() } else { result };
        let way = WAYS[number % WAYS.len()];
        let zero = self.made[(number + number / WAYS.len()) % WAYS.len()];
        if width == 0 {
            let none = new.int_constant(self.width, 0);
            let flag = emit(new, Op::INotEqual, lane_type, &[zero, none]);
            new.push(Op::LogicalNotEqual, &[lane_type, to, lane, flag]);
        } else {
            let bits = new.int_type(width);
            let zero = if width == self.width { zero } else { emit(new, Op::UConvert, bits, &[zero]) };
            if is_float {
                let lane = emit(new, Op::Bitcast, bits, &[lane]);
                let sum = emit(new, way, bits, &[lane, zero]);
                new.push(Op::Bitcast, &[lane_type, to, sum]);
            } else {
                new.push(way, &[lane_type, to, lane, zero]);
            }
        }
        if is_vector {
            new.push(Op::CompositeInsert, &[ty, result, to, value, 0]);
        }
        true
    }
}
