//! The built-in values of a work-item, and which of them a function asks for.

use oclave_spirv::BuiltIn;

/// A built-in of the OpenCL environment that a task list can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Builtin {
    WorkDim,
    GlobalSize,
    GlobalOffset,
    GlobalInvocationId,
    GlobalLinearId,
    LocalInvocationId,
    LocalInvocationIndex,
    WorkgroupId,
    NumWorkgroups,
    WorkgroupSize,
    EnqueuedWorkgroupSize,
}

impl Builtin {
    const ALL: [Self; 11] = [
        Self::WorkDim,
        Self::GlobalSize,
        Self::GlobalOffset,
        Self::GlobalInvocationId,
        Self::GlobalLinearId,
        Self::LocalInvocationId,
        Self::LocalInvocationIndex,
        Self::WorkgroupId,
        Self::NumWorkgroups,
        Self::WorkgroupSize,
        Self::EnqueuedWorkgroupSize,
    ];

    /// The built-in of a decoration's number.
    pub(super) fn of(number: u32) -> Option<Self> {
        Some(match BuiltIn::from_u32(number)? {
            BuiltIn::WorkDim => Self::WorkDim,
            BuiltIn::GlobalSize => Self::GlobalSize,
            BuiltIn::GlobalOffset => Self::GlobalOffset,
            BuiltIn::GlobalInvocationId => Self::GlobalInvocationId,
            BuiltIn::GlobalLinearId => Self::GlobalLinearId,
            BuiltIn::LocalInvocationId => Self::LocalInvocationId,
            BuiltIn::LocalInvocationIndex => Self::LocalInvocationIndex,
            BuiltIn::WorkgroupId => Self::WorkgroupId,
            BuiltIn::NumWorkgroups => Self::NumWorkgroups,
            BuiltIn::WorkgroupSize => Self::WorkgroupSize,
            BuiltIn::EnqueuedWorkgroupSize => Self::EnqueuedWorkgroupSize,
            _ => return None,
        })
    }

    /// 3 for vectors, 1 for scalars.
    pub(super) fn axes(self) -> u8 {
        match self {
            Self::WorkDim | Self::GlobalLinearId | Self::LocalInvocationIndex => 1,
            _ => 3,
        }
    }

    /// What it is in dimensions beyond the third.
    pub(super) fn beyond(self) -> u64 {
        match self {
            Self::GlobalSize | Self::NumWorkgroups | Self::WorkgroupSize | Self::EnqueuedWorkgroupSize => 1,
            _ => 0,
        }
    }

    /// All of its components.
    pub(super) fn components(self) -> impl Iterator<Item = Component> {
        (0..self.axes()).map(move |axis| Component { builtin: self, axis })
    }
}

/// One number of a built-in: `x` of the global id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Component {
    pub(super) builtin: Builtin,
    pub(super) axis: u8,
}

impl Component {
    fn bit(self) -> u64 {
        1 << (self.builtin as u32 * 3 + u32::from(self.axis).min(2))
    }
}

/// The components that a function asks for: its parameters behind its own, in this order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Needs(u64);

impl Needs {
    pub(super) fn insert(&mut self, component: Component) {
        self.0 |= component.bit();
    }

    pub(super) fn insert_all(&mut self, builtin: Builtin) {
        builtin.components().for_each(|component| self.insert(component));
    }

    /// Adds those of `other`; whether that changed anything.
    pub(super) fn merge(&mut self, other: Self) -> bool {
        let before = self.0;
        self.0 |= other.0;
        self.0 != before
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn contains(self, component: Component) -> bool {
        self.0 & component.bit() != 0
    }

    /// Whether a component of one of these is among them.
    pub(super) fn any(self, builtins: &[Builtin]) -> bool {
        builtins.iter().flat_map(|builtin| builtin.components()).any(|component| self.contains(component))
    }

    /// Whether the function may compare where it is in its row with both ends.
    pub(super) fn compares_ends(self) -> bool {
        let asks = |builtin| self.contains(Component { builtin, axis: 0 });
        asks(Builtin::GlobalInvocationId) && asks(Builtin::GlobalSize)
    }

    /// Whether the function may ask in which row, or in which slice, it is.
    pub(super) fn asks_for_row(self) -> bool {
        let asks = |axis| self.contains(Component { builtin: Builtin::GlobalInvocationId, axis });
        asks(1) || asks(2)
    }

    /// Whether the function asks how the index space is cut into groups, or where in which group it
    /// is.
    pub(super) fn asks_for_group(self) -> bool {
        self.any(&[
            Builtin::LocalInvocationId,
            Builtin::LocalInvocationIndex,
            Builtin::WorkgroupId,
            Builtin::NumWorkgroups,
            Builtin::WorkgroupSize,
            Builtin::EnqueuedWorkgroupSize,
        ])
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Component> {
        Builtin::ALL
            .into_iter()
            .flat_map(Builtin::components)
            .filter(move |component| self.contains(*component))
    }
}

impl FromIterator<Component> for Needs {
    fn from_iter<I: IntoIterator<Item = Component>>(components: I) -> Self {
        let mut needs = Self::default();
        components.into_iter().for_each(|component| needs.insert(component));
        needs
    }
}
