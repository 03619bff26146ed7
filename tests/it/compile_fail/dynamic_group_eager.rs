//! A dynamic command group belongs to a graph, not to a queue.
use oclave::{Event, Queue, Result};
use oclave::graph::DynamicCommandGroup;

fn run(queue: &Queue, group: &DynamicCommandGroup) -> Result<Event> {
    queue.submit(group)
}

fn main() {}
