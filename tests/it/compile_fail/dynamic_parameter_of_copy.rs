//! Copies and fills take no parameters of graphs: a node's command is replaced instead.
use oclave::{Command, UsmSlice};
use oclave::graph::DynamicParameter;
use oclave::memory::usm;

fn copy(from: &DynamicParameter<UsmSlice<f32, usm::DeviceOnly>>, to: &UsmSlice<f32, usm::DeviceOnly>) -> Command {
    Command::copy(from, to)
}

fn main() {}
