//! The sources of the kernels on the host.

#[path = "../kernels/barriers.rs"]
pub mod barriers;
#[path = "../kernels/bounds.rs"]
pub mod bounds;
#[path = "../kernels/branches.rs"]
pub mod branches;
#[path = "../kernels/groups.rs"]
pub mod groups;
#[path = "../kernels/mix.rs"]
pub mod mix;
#[path = "../kernels/objects.rs"]
pub mod objects;
#[path = "../kernels/pictures.rs"]
pub mod pictures;
#[path = "../kernels/slices.rs"]
pub mod slices;
#[path = "../kernels/step.rs"]
pub mod step;
#[path = "../kernels/tables.rs"]
pub mod tables;
#[path = "../kernels/vectors.rs"]
pub mod vectors;
#[path = "../kernels/widths.rs"]
pub mod widths;
