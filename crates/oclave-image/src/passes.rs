//! The passes that the other crates of oclave call. Internal: not part of the semver promise.
//!
//! They live in folders by when they run: `build`, `lowering`, `link`, `interpreter`. What does not depend on
//! device images is in `oclave-spirv`. Passes against faults of drivers are in `oclave-faults`.

pub use crate::analysis::indirect::kernels_that_follow_pointers;
pub use crate::build::signatures::signatures;
pub use crate::link::ahead_of_time::ahead_of_time;
pub use crate::link::dispatch::{
    BodyConflict, DEFAULT_DEPTH, DispatchPlan, VIRTUAL_FAULT, VIRTUAL_FAULT_BYTES, VirtualProgram, fault_id,
    needs_dispatchers,
};
pub use crate::link::linker::{self as link, LinkInput, link_languages, link_modules};
pub use crate::link::virtual_functions;
pub use crate::lowering::device_target::DeviceTarget;
pub use crate::lowering::global_access::{GLOBAL_ACCESS_KERNEL, add_global_access_kernel};
pub use crate::lowering::hidden_argument::{
    HiddenArgument, image_scope_initial_values, lower_globals_to_hidden_argument,
};
pub use crate::lowering::legalize::{Legal, UnsupportedKernel, legalize, legalize_watched, legalize_with};

/// Modules that run many small launches of other modules' kernels.
pub mod interpreter {
    pub use crate::interpreter::{
        BoxLaunch, ByteBox, ExcludedKernel, FOLD_GROUP, FlowEnd, FlowOp, FlowTask, FlowValue, Fold,
        FoldKernel, INTERPRETER_FLOW, INTERPRETER_SEQ, INTERPRETER_WI, InterpreterArgument,
        InterpreterArgumentKind, InterpreterCost, InterpreterKernel, InterpreterLayout, InterpreterModule,
        InterpreterUnit, JoinPart, LocalCopy, OwnTask, TaskRecord, box_kernels, flow_module, fold_kernels,
        interpreter_module, join_images, joined_name,
    };
}

/// `printf` of kernels to the program.
pub mod printf {
    pub use crate::printf::{
        PRINTS, PrintArgument, PrintBuffer, PrintSite, Printing, decode, lower_printf, prints,
    };
}
