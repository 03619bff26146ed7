//! Constants as bytes.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::llvm::layout;
use crate::llvm::tree::{Cast, Constant, Expression, Type};
use crate::program::{Program, Symbol};

/// Constants beyond this many bytes are not for kernels.
const LARGEST: u64 = 1 << 26;

/// The bytes of a constant, and the addresses in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Image {
    pub(crate) bytes: Vec<u8>,
    /// Offset → variable or function, and offset there. The bytes are zero.
    pub(crate) addresses: BTreeMap<u64, (Symbol, u64)>,
}

impl Image {
    /// The bytes of a variable of a module.
    pub(crate) fn of_global(program: &Program, module: usize, name: &str) -> Result<Self, String> {
        let (symbol, global) =
            program.global(module, name).ok_or_else(|| format!("`{name}` has no value"))?;
        if let Some(set) = program.tables(&symbol.name) {
            return Ok(set.image.clone());
        }
        let value = global.value.as_ref().ok_or_else(|| format!("`{name}` has no value"))?;
        Self::of(symbol.module, &global.ty, value)
    }

    /// The bytes of a constant.
    pub(crate) fn of(module: usize, ty: &Type, value: &Constant) -> Result<Self, String> {
        let size = layout::size(ty);
        if size > LARGEST {
            return Err(format!("a constant of {size} bytes"));
        }
        let mut image = Self { bytes: vec![0; size as usize], addresses: BTreeMap::new() };
        image.write(module, 0, ty, value)?;
        Ok(image)
    }

    fn write(&mut self, module: usize, at: u64, ty: &Type, value: &Constant) -> Result<(), String> {
        match value {
            Constant::Zero | Constant::Undefined => Ok(()),
            Constant::Int(value) => self.put(at, &value.to_le_bytes(), layout::store_size(ty)),
            Constant::Float(bits) => self.put(at, &bits.to_le_bytes(), layout::store_size(ty)),
            Constant::Bytes(bytes) => self.put(at, bytes, bytes.len() as u64),
            Constant::Elements(elements) => {
                for (index, (element, value)) in (0_u64..).zip(elements.iter()) {
                    self.write(module, at.saturating_add(layout::offset(ty, index)), element, value)?;
                }
                Ok(())
            }
            Constant::Splat(element) => {
                for index in 0..ty.elements().unwrap_or(0) {
                    self.write(module, at.saturating_add(layout::offset(ty, index)), &element.0, &element.1)?;
                }
                Ok(())
            }
            Constant::Global(name) => self.address(at, module, name, 0),
            Constant::Expression(_) => match address(value) {
                Some((Some(name), offset)) => self.address(at, module, &name, offset),
                Some((None, number)) => self.put(at, &number.to_le_bytes(), layout::store_size(ty)),
                None => Err("a constant that cannot be calculated".to_owned()),
            },
        }
    }

    fn address(&mut self, at: u64, module: usize, name: &Rc<str>, offset: u64) -> Result<(), String> {
        self.addresses.insert(at, (Symbol { module, name: Rc::clone(name) }, offset));
        Ok(())
    }

    fn put(&mut self, at: u64, bytes: &[u8], count: u64) -> Result<(), String> {
        let outside = || "a constant that does not fit its type".to_owned();
        let start = usize::try_from(at).map_err(|_| outside())?;
        let count = usize::try_from(count).map_err(|_| outside())?.min(bytes.len());
        let end = start.checked_add(count).ok_or_else(outside)?;
        let to = self.bytes.get_mut(start..end).ok_or_else(outside)?;
        to.copy_from_slice(bytes.get(..count).ok_or_else(outside)?);
        Ok(())
    }

    /// Puts a number in the place of an address.
    pub(crate) fn set_address(&mut self, at: u64, number: u64) {
        // The address stood there, so that it fits.
        let _ = self.put(at, &number.to_le_bytes(), 8);
    }

    /// A little-endian number.
    pub(crate) fn number(&self, at: u64, bytes: u64) -> Option<u64> {
        let start = usize::try_from(at).ok()?;
        let bytes = self.bytes.get(start..start.checked_add(usize::try_from(bytes).ok()?)?)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

/// The variable and the offset of a constant address; without a variable, the number itself.
pub(crate) fn address(constant: &Constant) -> Option<(Option<Rc<str>>, u64)> {
    match constant {
        Constant::Zero => Some((None, 0)),
        Constant::Int(value) => Some((None, *value as u64)),
        Constant::Global(name) => Some((Some(Rc::clone(name)), 0)),
        Constant::Expression(expression) => match &**expression {
            Expression::Address { element, base, indices } => {
                let (name, offset) = address(base)?;
                let indices = indices.iter().map(|(ty, index)| (ty, index));
                Some((name, offset.wrapping_add(constant_offset(element, indices)?)))
            }
            Expression::Cast(
                Cast::IntToPtr | Cast::PtrToInt | Cast::AddressSpace | Cast::Bitcast,
                _,
                value,
            ) => address(value),
            _ => None,
        },
        _ => None,
    }
}

/// The bytes that constant indices lead to.
pub(crate) fn constant_offset<'i>(
    element: &Type,
    indices: impl IntoIterator<Item = (&'i Type, &'i Constant)>,
) -> Option<u64> {
    let mut offset = 0_u64;
    let mut ty = element;
    for (position, (index_type, index)) in indices.into_iter().enumerate() {
        let index = match index {
            Constant::Int(value) => signed(*value, index_type),
            Constant::Zero => 0,
            _ => return None,
        };
        if position == 0 {
            offset = offset.wrapping_add(layout::size(ty).wrapping_mul(index));
        } else {
            offset = offset.wrapping_add(match ty {
                Type::Struct { .. } => layout::offset(ty, index),
                _ => layout::size(ty.element(0)?).wrapping_mul(index),
            });
            ty = ty.element(if matches!(ty, Type::Struct { .. }) { index } else { 0 })?;
        }
    }
    Some(offset)
}

/// An index, extended to 64 bits.
pub(crate) fn signed(value: u128, ty: &Type) -> u64 {
    match ty {
        Type::Int(width @ 1..=63) => {
            let shift = 64 - width;
            (((value as u64) << shift) as i64 >> shift) as u64
        }
        _ => value as u64,
    }
}
