//! Zeroes that depend on the work-item, and values with such a zero added.
//!
//! Unlike a selection, a zero leaves compilers no condition to take out of a loop.

use crate::passes::built_in_vector::BuiltInVector;
use crate::passes::opaque_values::{first_lane, hidden_zero};
use oclave_spirv::{Cursor, Op, Type, TypeTable};

/// The ways to add a zero to a number.
const WAYS: [Op; 4] = [Op::IAdd, Op::BitwiseXor, Op::ISub, Op::BitwiseOr];

/// Zeroes of a function, which are made of ids of dimension 0.
pub(crate) struct Zeros {
    made: [u32; WAYS.len()],
    width: u32,
}

impl Zeros {
    /// Writes them.
    pub(crate) fn write(at: &mut Cursor<'_, '_>, local: &BuiltInVector) -> Self {
        let (id, width) = (local.read(at, 0), local.width);
        let ty = at.int_type(width);
        let made = std::array::from_fn(|number| {
            let number = at.int_constant(width, number as u64);
            let n = at.emit(Op::IAdd, ty, &[id, number]);
            hidden_zero(at, n, width)
        });
        Self { made, width }
    }

    /// Writes a number, a `bool` or a vector, given with its type, with a zero added. In a vector, only the
    /// first lane gets one. Gives `None` for other types, and writes nothing then.
    ///
    /// Values of one phi need different numbers. Compilers add what all values have in common behind the
    /// phi, and then have the phi of the values alone.
    pub(crate) fn add(
        &self,
        at: &mut Cursor<'_, '_>,
        types: &TypeTable<'_>,
        number: usize,
        (value, ty): (u32, u32),
    ) -> Option<u32> {
        let (width, is_float) = match types.ty(types.lane(ty))? {
            Type::Bool => (0, false),
            Type::Int { width } => (width, false),
            Type::Float { width } => (width, true),
            _ => return None,
        };
        let (lane, lane_type) = first_lane(at, types, value, ty);
        let way = WAYS[number % WAYS.len()];
        let zero = self.made[(number + number / WAYS.len()) % WAYS.len()];
        let sum = if width == 0 {
            let none = at.int_constant(self.width, 0);
            let flag = at.emit(Op::INotEqual, lane_type, &[zero, none]);
            at.emit(Op::LogicalNotEqual, lane_type, &[lane, flag])
        } else {
            let bits = at.int_type(width);
            let zero = if width == self.width { zero } else { at.emit(Op::UConvert, bits, &[zero]) };
            if is_float {
                let lane = at.emit(Op::Bitcast, bits, &[lane]);
                let sum = at.emit(way, bits, &[lane, zero]);
                at.emit(Op::Bitcast, lane_type, &[sum])
            } else {
                at.emit(way, lane_type, &[lane, zero])
            }
        };
        Some(if lane_type == ty { sum } else { at.emit(Op::CompositeInsert, ty, &[sum, value, 0]) })
    }
}
