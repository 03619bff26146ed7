//! Built-in functions of wide vectors, as functions of their parts.
//!
//! PoCL 6.0 keeps its built-in functions in a library of bitcode. Functions that SPIR-V calls get
//! their arguments from wrappers. A vector that is wider than the registers of the processor goes
//! through memory, which these wrappers do not write. Conversions have no such wrappers. Vectors
//! that functions return are right.

use std::collections::HashMap;

use crate::Fault;
use crate::passes::called_functions::write_dot;
use crate::passes::{Error, Pass, Result, pass};
use crate::table::{POCL_CPU_6, fault};
use oclave_spirv::analysis::Analyses;
use oclave_spirv::{
    ALIGNED, Cursor, Definitions, Editor, Instruction, Module, Op, Section, Type, TypeTable, is_within,
};

fault! {
    /// **Q59. PoCL 6.0 on CPUs.** Built-in functions that SPIR-V calls get garbage for vectors that are
    /// wider than a register: 64 bytes with AVX-512, 32 with AVX, 16 else. `vstore16` of `long`
    /// stores nothing there, and `cos(double16)` does not compute. The library of bitcode calls such a function by
    /// a wrapper that passes addresses of variables, and never writes them. OpenCL C does not call the
    /// wrappers. So these functions get parts of the vectors.
    /// This is the number of bytes that they may have.
    Q59 {
        affects: [POCL_CPU_6],
        seen: Programs,
        symptom: "Built-in functions get garbage for vectors wider than a register.",
        remedy: "Vectors are split (`wide_arguments`).",
        upstream: ["pocl-wide-arguments.md"],
    }
}

pub(in crate::passes) const PASS: Pass = pass(Fault::Q59, "wide_arguments", |on| {
    split(on.analyses, on.target.vector_argument_bytes, on.image.name)
});

/// The widest vectors that PoCL passes in registers. It has a library of built-in functions for each
/// class of processors, and takes one by the features of the host or by this variable.
#[must_use]
pub fn vector_argument_bytes() -> u32 {
    match std::env::var("POCL_KERNELLIB_NAME").as_deref() {
        Ok("avx512") => 64,
        Ok("avx" | "avx2" | "avx_f16c" | "avx_fma4") => 32,
        Ok("sse2" | "ssse3" | "sse41") => 16,
        // PoCL ignores other names.
        _ => register_bytes(),
    }
}

#[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
fn register_bytes() -> u32 {
    match (is_x86_feature_detected!("avx512f"), is_x86_feature_detected!("avx")) {
        (true, _) => 64,
        (_, true) => 32,
        _ => 16,
    }
}

#[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
fn register_bytes() -> u32 {
    16
}

/// Functions of OpenCL.std.
const GEOMETRIC: [&str; 7] =
    ["cross", "distance", "length", "normalize", "fast_distance", "fast_length", "fast_normalize"];
const FIRST_GEOMETRIC: u32 = 104;
const VSTOREN: u32 = 172;
const VSTORE_HALF: u32 = 175;
const VSTORE_HALF_R: u32 = 176;
const VSTORE_HALFN: u32 = 177;
const VSTORE_HALFN_R: u32 = 178;
const VSTOREA_HALFN: u32 = 180;
const VSTOREA_HALFN_R: u32 = 181;
const SHUFFLE: u32 = 182;
const SHUFFLE2: u32 = 183;
/// Loads, which take no vector. Their last operand may be a number.
const LOADS: [u32; 4] = [171, 173, 174, 179];
/// `printf` and `prefetch`, which are no functions of that library.
const OTHERS: [u32; 2] = [184, 185];
/// The module without calls of built-in functions with vectors of more than `most_bytes` bytes;
/// `None` where there is none.
///
/// # Errors
/// [`Error::DeviceLacks`] for geometric functions of such vectors. As [`Editor::finish`].
pub(crate) fn split(analyses: &Analyses<'_>, most_bytes: u32, image: &str) -> Result<Option<Module>> {
    let definitions = analyses.definitions();
    let types = TypeTable::new(definitions);
    let calls = Calls { definitions, types: &types, most_bytes, image };
    let mut edit = Editor::new(definitions);
    let mut decorations: HashMap<u32, Vec<&[u32]>> = HashMap::new();
    for instruction in analyses.module().instructions() {
        if let (Some(Op::Decorate), [id, decoration @ ..]) = (instruction.op(), instruction.operands()) {
            decorations.entry(*id).or_default().push(decoration);
        }
        let Some(call) = calls.wide(&instruction)? else { continue };
        let (Some(ty), Some(result)) = (instruction.result_type(), instruction.result_id()) else { continue };
        // Decorations belong to the parts.
        edit.remove(&instruction);
        let decorations = decorations.get(&result).map(Vec::as_slice).unwrap_or_default();
        let mut pass = Splitter { calls: &calls, decorations, at: edit.instead_of(&instruction) };
        pass.write(&instruction, [ty, result], &call);
    }
    Ok(edit.finish()?)
}

/// A call that is split.
enum Call {
    /// A function that takes lane by lane. These operands come before the arguments.
    Lanes { before: usize },
    /// A sum of products of lanes.
    Dot,
    /// A store of a vector as so many bytes each lane, with a rounding mode for halves.
    Store { number: u32 },
    /// A selection of lanes of one or two vectors.
    Shuffle { sources: usize },
}

struct Calls<'a, 'm> {
    definitions: &'a Definitions<'m>,
    types: &'a TypeTable<'m>,
    most_bytes: u32,
    image: &'a str,
}

impl Calls<'_, '_> {
    /// What to make of an instruction; `None` where the device has it right.
    fn wide(&self, instruction: &Instruction<'_>) -> Result<Option<Call>> {
        let call = match (instruction.op(), instruction.operands()) {
            (Some(Op::ExtInst), &[set, number, ref arguments @ ..])
                if self.definitions.opencl_std() == Some(set) =>
            {
                let is_geometric = (number.checked_sub(FIRST_GEOMETRIC))
                    .and_then(|at| GEOMETRIC.get(usize::try_from(at).ok()?));
                let (vectors, call) = match (number, is_geometric) {
                    (VSTOREN | VSTORE_HALFN..=VSTORE_HALFN_R | VSTOREA_HALFN..=VSTOREA_HALFN_R, _) => {
                        (arguments.get(..1).unwrap_or_default(), Call::Store { number })
                    }
                    (SHUFFLE, _) => (arguments, Call::Shuffle { sources: 1 }),
                    (SHUFFLE2, _) => (arguments, Call::Shuffle { sources: 2 }),
                    (_, Some(name)) if self.any_wide(arguments) => return Err(self.lacks(name)),
                    _ if LOADS.contains(&number) || OTHERS.contains(&number) => return Ok(None),
                    _ => (arguments, Call::Lanes { before: 2 }),
                };
                self.any_wide(vectors).then_some(call)
            }
            (Some(Op::Dot), arguments) => self.any_wide(arguments).then_some(Call::Dot),
            (Some(op), arguments) if is_within(op, Op::IsNan, Op::Unordered) || op == Op::BitCount => {
                self.any_wide(arguments).then_some(Call::Lanes { before: 0 })
            }
            _ => None,
        };
        Ok(call)
    }

    fn any_wide(&self, arguments: &[u32]) -> bool {
        arguments.iter().any(|id| {
            let ty = self.definitions.type_of(*id);
            ty.is_some_and(|ty| {
                let is_vector = matches!(self.types.ty(ty), Some(Type::Vector { .. }));
                is_vector && self.types.size_bytes(ty) > Some(self.most_bytes.into())
            })
        })
    }

    fn lacks(&self, name: &str) -> Error {
        let (most, image) = (self.most_bytes, self.image);
        let what = format!(
            "`{name}` of vectors of more than {most} bytes, which image \"{image}\" needs: its built-in \
             functions get other values; compute it from the components"
        );
        Error::DeviceLacks { what }
    }
}

/// Neighbouring lanes of a vector.
#[derive(Clone, Copy)]
struct Part {
    start: u32,
    lanes: u32,
}

/// Writes the parts of a call.
struct Splitter<'a, 'e, 'm> {
    calls: &'a Calls<'a, 'm>,
    /// Of the result.
    decorations: &'a [&'m [u32]],
    at: Cursor<'e, 'm>,
}

impl Splitter<'_, '_, '_> {
    fn write(&mut self, instruction: &Instruction<'_>, [ty, result]: [u32; 2], call: &Call) {
        match *call {
            Call::Lanes { before } => self.lanes(instruction, [ty, result], before),
            Call::Dot => {
                if let &[a, b] = instruction.operands() {
                    write_dot(&mut self.at, ty, result, [a, b]);
                }
            }
            Call::Store { number } => self.store(instruction, ty, number),
            Call::Shuffle { sources } => self.shuffle(instruction, [ty, result], sources),
        }
    }

    fn vector(&self, id: u32) -> Option<(u32, u32)> {
        match self.calls.types.ty(self.calls.definitions.type_of(id)?)? {
            Type::Vector { component, count } => Some((component, count)),
            _ => None,
        }
    }

    /// Parts that the device takes, of vectors with these components.
    fn parts(&self, components: impl Iterator<Item = u32>, lanes: u32) -> Vec<Part> {
        let bytes = components.filter_map(|ty| self.calls.types.size_bytes(ty)).max().unwrap_or(8);
        let most = u64::from(self.calls.most_bytes).checked_div(bytes).unwrap_or(1).clamp(1, 16) as u32;
        let part = |start| Part { start, lanes: most.min(lanes - start) };
        (0..lanes).step_by(most as usize).map(part).collect()
    }

    /// The type of a part of a vector.
    fn part_type(&mut self, component: u32, part: Part) -> u32 {
        if part.lanes == 1 { component } else { self.at.vector_type(component, part.lanes) }
    }

    /// A part of a vector.
    fn part(&mut self, vector: u32, component: u32, part: Part) -> u32 {
        let ty = self.part_type(component, part);
        if part.lanes == 1 {
            return self.at.emit(Op::CompositeExtract, ty, &[vector, part.start]);
        }
        let lanes: Vec<u32> =
            [vector, vector].into_iter().chain(part.start..part.start + part.lanes).collect();
        self.at.emit(Op::VectorShuffle, ty, &lanes)
    }

    fn lanes(&mut self, instruction: &Instruction<'_>, [ty, result]: [u32; 2], before: usize) {
        let op = instruction.op().unwrap_or(Op::Nop);
        let (before, arguments) = instruction.operands().split_at(before.min(instruction.operands().len()));
        let vectors: Vec<(u32, u32)> = arguments.iter().filter_map(|id| self.vector(*id)).collect();
        let component = self.calls.types.lane(ty);
        let lanes = vectors.iter().map(|(_, lanes)| *lanes).max().unwrap_or(1);
        let components = vectors.iter().map(|(component, _)| *component);
        let mut whole = vec![ty, result];
        for part in self.parts(components, lanes) {
            let mut operands = before.to_vec();
            for argument in arguments {
                let part = match self.vector(*argument) {
                    Some((component, _)) => self.part(*argument, component, part),
                    None => self.argument(*argument, lanes, part),
                };
                operands.push(part);
            }
            let part_type = self.part_type(component, part);
            let value = self.at.emit(op, part_type, &operands);
            for decoration in self.decorations {
                self.at.push_in(Section::Annotations, Op::Decorate, &[&[value], *decoration].concat());
            }
            for lane in 0..part.lanes {
                whole.push(match part.lanes {
                    1 => value,
                    _ => self.at.emit(Op::CompositeExtract, component, &[value, lane]),
                });
            }
        }
        self.at.push(Op::CompositeConstruct, &whole);
    }

    /// An argument that is no vector: of a pointer to one, that to the part.
    fn argument(&mut self, id: u32, lanes: u32, part: Part) -> u32 {
        let pointer = self.calls.definitions.type_of(id).and_then(|ty| self.calls.types.ty(ty));
        let Some(Type::Pointer { class, pointee }) = pointer else { return id };
        let Some(Type::Vector { component, count }) = self.calls.types.ty(pointee) else { return id };
        if count != lanes {
            return id;
        }
        let to_component = self.at.intern(Op::TypePointer, &[class, component]);
        let first = self.at.emit(Op::Bitcast, to_component, &[id]);
        let start = self.index(part.start);
        let at = self.at.emit(Op::InBoundsPtrAccessChain, to_component, &[first, start]);
        if part.lanes == 1 {
            return at;
        }
        let part_type = self.part_type(component, part);
        let to_part = self.at.intern(Op::TypePointer, &[class, part_type]);
        self.at.emit(Op::Bitcast, to_part, &[at])
    }

    /// A number of elements as an index.
    fn index(&mut self, number: u32) -> u32 {
        self.at.int_constant(self.calls.types.pointer_bytes() * 8, number.into())
    }

    fn store(&mut self, instruction: &Instruction<'_>, void: u32, number: u32) {
        let &[set, _, data, offset, to, ref mode @ ..] = instruction.operands() else { return };
        let Some((component, lanes)) = self.vector(data) else { return };
        let (Some(offset_type), Some(pointer)) =
            (self.calls.definitions.type_of(offset), self.calls.definitions.type_of(to))
        else {
            return;
        };
        let Some(Type::Int { width }) = self.calls.types.ty(offset_type) else { return };
        // Aligned vectors of three lanes have the place of a fourth one.
        let is_aligned = matches!(number, VSTOREA_HALFN..=VSTOREA_HALFN_R);
        let step = if is_aligned { lanes.next_power_of_two() } else { lanes };
        let step = self.at.int_constant(width, step.into());
        let zero = self.at.int_constant(width, 0);
        let first = self.at.emit(Op::IMul, offset_type, &[offset, step]);
        for part in self.parts([component].into_iter(), lanes) {
            let start = self.at.int_constant(width, part.start.into());
            let index = self.at.emit(Op::IAdd, offset_type, &[first, start]);
            let at = self.at.emit(Op::InBoundsPtrAccessChain, pointer, &[to, index]);
            let value = self.part(data, component, part);
            let function = match (number, part.lanes) {
                (VSTOREN, 1) => {
                    let bytes = self.calls.types.size_bytes(component).unwrap_or(1) as u32;
                    self.at.push(Op::Store, &[at, value, ALIGNED, bytes]);
                    continue;
                }
                (VSTOREN, _) => VSTOREN,
                (_, 1) if mode.is_empty() => VSTORE_HALF,
                (_, 1) => VSTORE_HALF_R,
                _ if mode.is_empty() => VSTORE_HALFN,
                _ => VSTORE_HALFN_R,
            };
            self.at.emit(Op::ExtInst, void, &[&[set, function, value, zero, at], mode].concat());
        }
    }

    /// Each lane by its number, which is no call.
    fn shuffle(&mut self, instruction: &Instruction<'_>, [ty, result]: [u32; 2], sources: usize) {
        let Some((sources, &[mask])) =
            instruction.operands().get(2..).and_then(|arguments| arguments.split_at_checked(sources))
        else {
            return;
        };
        let (Some((component, of_source)), Some((number, lanes))) =
            (sources.first().and_then(|id| self.vector(*id)), self.vector(mask))
        else {
            return;
        };
        let Some(Type::Int { width }) = self.calls.types.ty(number) else { return };
        let from = of_source.next_power_of_two();
        let last = self.at.int_constant(width, u64::from(from) - 1);
        let mut whole = vec![ty, result];
        for lane in 0..lanes {
            let place = self.at.emit(Op::CompositeExtract, number, &[mask, lane]);
            let low = self.at.emit(Op::BitwiseAnd, number, &[place, last]);
            let values: Vec<u32> = sources
                .iter()
                .map(|source| self.at.emit(Op::VectorExtractDynamic, component, &[*source, low]))
                .collect();
            whole.push(match *values.as_slice() {
                [first, second] => {
                    let (bit, zero, bool) = (
                        self.at.int_constant(width, from.into()),
                        self.at.int_constant(width, 0),
                        self.at.bool_type(),
                    );
                    let high = self.at.emit(Op::BitwiseAnd, number, &[place, bit]);
                    let is_second = self.at.emit(Op::INotEqual, bool, &[high, zero]);
                    self.at.emit(Op::Select, component, &[is_second, second, first])
                }
                [value, ..] => value,
                [] => 0,
            });
        }
        self.at.push(Op::CompositeConstruct, &whole);
    }
}
