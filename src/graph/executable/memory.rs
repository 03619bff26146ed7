//! The memory of graphs in executables.

use std::collections::HashMap;
use std::sync::Arc;

use crate::command::{CommandKind, Place as CommandPlace};
use crate::driver::usm::{Allocation, Kind};
use crate::graph::plan::flatten::Flat;
use crate::graph::plan::memory::{Memory, MemoryPlan, Place, Request, not_here};
use crate::memory::{DEFAULT_ALIGNMENT, Region, Reserved};
use crate::{MakeError as _, Queue, Result};

/// Memory that is asked for, with what stands for it.
type Wanted = HashMap<Reserved, (Request, Region)>;

/// Plans the memory of an executable, and allocates it. `owners` are the graphs whose memory it is. `around` is memory
/// of graphs around it.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) for memory of other graphs; without memory for all.
pub(super) fn allocate(
    queue: &Queue,
    (flat, owners): (&Flat, &[u64]),
    commands: &[Arc<CommandKind>],
    around: Memory,
) -> Result<(MemoryPlan, Memory)> {
    let mut wanted = Wanted::new();
    for (node, command) in commands.iter().enumerate() {
        if command.has_no_graph_memory() {
            continue;
        }
        let is_here = |key: Reserved| around.has(key) || owners.contains(&key.owner);
        if let Some((key, _)) = command.graph_memory().find(|(key, _)| !is_here(*key)) {
            return Err(not_here(key).at(format!("node {}", flat.origin(node))));
        }
        for (key, reserved) in command.all_graph_memory() {
            // Memory that a body uses and that is not here belongs to the body.
            if around.has(key) || !owners.contains(&key.owner) {
                continue;
            }
            let size_bytes = reserved.size_bytes();
            let new = || (Request { key, size_bytes, nodes: Vec::new() }, reserved);
            let (request, _) = wanted.entry(key).or_insert_with(new);
            if request.nodes.last() != Some(&(node as u32)) {
                request.nodes.push(node as u32);
            }
        }
    }
    if wanted.is_empty() {
        return Ok((MemoryPlan::default(), around));
    }
    let requests = wanted.values().map(|(request, _)| request.clone()).collect();
    let plan = MemoryPlan::new(flat.len(), |node| flat.waits(node as usize), requests);
    let (context, device) = (queue.context().driver(), queue.device());
    let arena = Allocation::new(context, Some(device), Kind::Device, plan.size_bytes, DEFAULT_ALIGNMENT)
        .map_err(|error| error.at("memory of the graph"))?;
    let arena = Region::whole(arena);
    let mut memory = around;
    for (request, offset) in plan.requests.iter().zip(&plan.offsets) {
        if let Some((_, reserved)) = wanted.remove(&request.key) {
            let there = arena.part(*offset, request.size_bytes)?;
            memory.insert(request.key, Place { reserved, there });
        }
    }
    Ok((plan, memory))
}

/// For each memory of a graph, a command that fills it, and the nodes that use it.
pub(super) fn fills(
    graph: u64,
    commands: &[Arc<CommandKind>],
    byte: u8,
) -> Vec<(Arc<CommandKind>, Vec<u32>)> {
    let mut fills: Vec<(Reserved, Region, Vec<u32>)> = Vec::new();
    let mut places: HashMap<Reserved, usize> = HashMap::new();
    for (node, command) in (0_u32..).zip(commands) {
        for (key, reserved) in command.all_graph_memory().into_iter().filter(|(key, _)| key.owner == graph) {
            let place = *places.entry(key).or_insert(fills.len());
            match fills.get_mut(place) {
                Some((_, _, nodes)) if nodes.last() == Some(&node) => {}
                Some((_, _, nodes)) => nodes.push(node),
                None => fills.push((key, reserved, vec![node])),
            }
        }
    }
    let fill = |(_, reserved, nodes)| {
        (Arc::new(CommandKind::Memset { to: CommandPlace::Usm(reserved), byte }), nodes)
    };
    fills.into_iter().map(fill).collect()
}
