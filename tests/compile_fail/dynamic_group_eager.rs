//! A dynamic command group belongs to a graph, not to a queue.
use oclave::{DynamicCommandGroup, Event, Queue, Result};

fn run(queue: &Queue, group: &DynamicCommandGroup) -> Result<Event> {
    queue.submit(group)
}

fn main() {}
