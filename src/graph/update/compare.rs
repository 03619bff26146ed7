//! Whether one graph can give another one its parameters and ranges: the topology and the kernels
//! must be the same.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::MakeError as _;
use crate::command::{Argument, CommandKind, KernelCall};
use crate::dag::Edges;
use crate::graph::executable::handle::ExecutableGraph;
use crate::graph::executable::handle::frozen;
use crate::graph::executable::layout::Layout;
use crate::graph::model::describe::NodeType;
use crate::graph::model::describe::title;
use crate::graph::model::snapshot::Frozen;
use crate::graph::plan::commands::Commands;
use crate::graph::plan::partition::Partition;
use crate::{Error, Result};

/// The commands of a graph, and what they depend on in the order in which the edges were made.
struct Nodes<'a> {
    commands: Vec<&'a CommandKind>,
    edges: &'a Edges,
}

/// Refuses a graph as the source of an update of another one unless their structures are the same.
/// They must have the same nodes with the same kernels in the same order. Their edges must be the
/// same, made in the same order.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) naming the first difference, or the first node that no
/// graph can update another one with.
fn check(target: &Nodes<'_>, source: &Nodes<'_>) -> Result<()> {
    for (node, command) in source.commands.iter().enumerate() {
        let ty = NodeType::of(command);
        let takes = matches!(
            ty,
            NodeType::Kernel
                | NodeType::Empty
                | NodeType::Barrier
                | NodeType::Subgraph
                | NodeType::ExternalEvent
        );
        if !takes && !ty.is_control() {
            return Err(Error::invalid(format!(
                "node {node} is a {ty}, and whole graphs are updated with kernels only (sycl_ext_oneapi_graph, section 7.5.5)"
            ))
            .remedy("update the nodes themselves: `node.update_command(..)`, then `executable.update(&node)`"));
        }
    }
    match first_difference(target, source) {
        Some(difference) => Err(Error::invalid(format!("the graphs differ: {difference}"))
            .remedy("build the graph in the same way as the one that was finalized, or finalize it")),
        None => Ok(()),
    }
}

/// A graph inside another one, and its commands.
type Inner = (ExecutableGraph, Vec<Arc<CommandKind>>);

/// The executables that are sub-graphs of a graph, by node, with their commands as they are now.
pub(super) fn sub_graphs(source: &Frozen) -> Result<HashMap<usize, Inner>> {
    let sub_graph = |(node, command): (usize, &Arc<CommandKind>)| match &**command {
        CommandKind::Graph(sub) => Some(ExecutableGraph::of(sub).map(|sub| {
            let commands = sub.commands();
            (node, (sub, commands))
        })),
        _ => None,
    };
    source.commands.iter().enumerate().filter_map(sub_graph).collect()
}

/// The numbers of graphs of an executable, by those of the graphs that it is updated with. Both are the same but for
/// arguments.
pub(super) fn owners(
    target: &Frozen,
    executable: &ExecutableGraph,
    source: &Frozen,
    subs: &HashMap<usize, Inner>,
) -> Result<Vec<(u64, u64)>> {
    let mut owners = vec![(source.graph, executable.layout().graph)];
    for (node, command) in target.commands.iter().enumerate() {
        if let (CommandKind::Graph(old), Some((new, _))) = (&**command, subs.get(&node)) {
            let old = ExecutableGraph::of(old)?;
            owners.extend(new.layout().owners.iter().copied().zip(old.layout().owners.iter().copied()));
        }
    }
    Ok(owners)
}

/// Commands for nodes of a flat graph.
type Changes = Vec<(usize, Arc<CommandKind>)>;

/// Bodies of an executable, each with the graph that it is updated with.
type Bodies = Vec<(ExecutableGraph, Frozen)>;

/// The commands that an executable is updated with by a graph that is the same, with their places
/// among its own. Also the bodies that remain to be compared. `subs` are the sub-graphs of the source.
pub(super) fn whole(
    target: &Frozen,
    executable: &ExecutableGraph,
    commands: &Commands,
    source: &Frozen,
    subs: &HashMap<usize, (ExecutableGraph, Vec<Arc<CommandKind>>)>,
) -> Result<(Changes, Bodies)> {
    let Layout { flat, partitions, .. } = executable.layout();
    let lost = |node| Error::bug(format!("node {node} has no place in the executable"));
    let place = |node| flat.position(node).map(|at| at as usize).ok_or_else(|| lost(node));
    let now = |(node, command): (usize, &Arc<CommandKind>)| match &**command {
        CommandKind::Graph(_) => Ok(Arc::clone(command)),
        _ => commands.get(place(node)?).map(Cow::into_owned).ok_or_else(|| lost(node)),
    };
    let now: Vec<_> = target.commands.iter().enumerate().map(now).collect::<Result<_>>()?;
    check(
        &Nodes { commands: plain(&now), edges: &target.predecessors },
        &Nodes { commands: plain(&source.commands), edges: &source.predecessors },
    )?;
    let (mut changes, mut bodies) = (Vec::new(), Vec::new());
    for (node, (command, old)) in source.commands.iter().zip(&target.commands).enumerate() {
        match (&**command, &**old) {
            (CommandKind::Graph(_), CommandKind::Graph(old)) => {
                let first = flat.sub_graph(node).ok_or_else(|| lost(node))?;
                let (new, new_commands) = subs.get(&node).ok_or_else(|| lost(node))?;
                let old = ExecutableGraph::of(old)?;
                let old = &old.layout().flat;
                let now = (first..first + old.len()).filter_map(|node| commands.get(node));
                let now: Vec<_> = now.map(Cow::into_owned).collect();
                let new = Nodes { commands: plain(new_commands), edges: new.layout().flat.edges() };
                check(&Nodes { commands: plain(&now), edges: old.edges() }, &new)
                    .and_then(|()| refuse_control(new_commands))
                    .map_err(|error| error.at(format!("sub-graph node {node}")))?;
                changes.extend((first..).zip(new_commands.iter().cloned()));
            }
            (CommandKind::Kernel { .. }, _) => changes.push((place(node)?, Arc::clone(command))),
            (CommandKind::Control(flow), _) => {
                let at = place(node)?;
                let is_it = |partition: &Partition| partition.nodes.first() == Some(&(at as u32));
                let own = partitions.iter().position(is_it).and_then(|index| executable.bodies().get(index));
                for (own, body) in own.into_iter().flatten().zip(&flow.bodies) {
                    let named = |error: Error| error.at(format!("{} node {node}", flow.name()));
                    let body = frozen(body, executable.context(), executable.device()).map_err(named)?;
                    bodies.push((own.clone(), body));
                }
                changes.push((at, Arc::clone(command)));
            }
            _ => {}
        }
    }
    changes.retain(|(_, command)| matches!(&**command, CommandKind::Kernel { .. } | CommandKind::Control(_)));
    Ok((changes, bodies))
}

/// Bodies in a sub-graph are copies, which nothing reaches.
fn refuse_control(commands: &[Arc<CommandKind>]) -> Result<()> {
    match commands.iter().any(|command| matches!(**command, CommandKind::Control(_))) {
        true => Err(Error::invalid("a loop or a condition in a sub-graph cannot be updated")
            .remedy("add it to the graph itself, or finalize the graph again")),
        false => Ok(()),
    }
}

fn plain(commands: &[Arc<CommandKind>]) -> Vec<&CommandKind> {
    commands.iter().map(|command| &**command).collect()
}

/// The first thing that an update cannot change, in words.
fn first_difference(target: &Nodes<'_>, source: &Nodes<'_>) -> Option<String> {
    let of_node = |(node, (old, new)): (usize, (&&CommandKind, &&CommandKind))| {
        let edges = || {
            let (old, new) = (target.edges.of(node as u32), source.edges.of(node as u32));
            (old != new).then(|| format!("depends on {new:?}, in the executable on {old:?}"))
        };
        command_difference(old, new).or_else(edges).map(|what| format!("node {node} {what}"))
    };
    target.commands.iter().zip(&source.commands).enumerate().find_map(of_node).or_else(|| {
        let (old, new) = (target.commands.len(), source.commands.len());
        (old != new).then(|| format!("{new} nodes, the executable has {old}"))
    })
}

/// A difference between commands that no update can make up for.
fn command_difference(target: &CommandKind, source: &CommandKind) -> Option<String> {
    match (target, source) {
        (CommandKind::Kernel { call: target, .. }, CommandKind::Kernel { call: source, .. }) => {
            call_difference(target, source)
        }
        (CommandKind::Control(target), CommandKind::Control(source))
            if target.kind == source.kind && target.bodies.len() != source.bodies.len() =>
        {
            Some(format!("has {} bodies, in the executable {}", source.bodies.len(), target.bodies.len()))
        }
        (target, source) => (NodeType::of(target) != NodeType::of(source))
            .then(|| format!("is {}, in the executable {}", title(None, source), title(None, target))),
    }
}

fn call_difference(target: &KernelCall, source: &KernelCall) -> Option<String> {
    if !target.same_kernel(source) {
        let (target, source) = (target.kernel_name(), source.kernel_name());
        return Some(match target == source {
            true => format!("is another kernel `{source}`, or one that is specialized in another way"),
            false => format!("is kernel `{source}`, in the executable `{target}`"),
        });
    }
    if target.arguments().len() != source.arguments().len() {
        let (target, source) = (target.arguments().len(), source.arguments().len());
        return Some(format!("has {source} arguments, in the executable {target}"));
    }
    let mut pairs = target.arguments().iter().zip(source.arguments()).enumerate();
    let differing = pairs.find(|(_, (target, source))| !same_type(target, source));
    differing.map(|(index, _)| format!("has an argument {index} of another type than in the executable"))
}

fn same_type(target: &Argument, source: &Argument) -> bool {
    match (target, source) {
        (Argument::Value(a), Argument::Value(b)) => a.ty == b.ty || a.is_raw() || b.is_raw(),
        (Argument::Pointer(a), Argument::Pointer(b)) => a.ty() == b.ty(),
        (Argument::Local { ty: a, .. }, Argument::Local { ty: b, .. }) => a == b,
        (Argument::Image(a), Argument::Image(b)) => a.type_name() == b.type_name(),
        (Argument::Sampler(_), Argument::Sampler(_)) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::Command;
    use crate::image::{ImageTable, Kernel};

    static TABLE: ImageTable = ImageTable::generated("t", &[]);
    static KERNELS: [Kernel; 3] =
        [Kernel::new(&TABLE, "a"), Kernel::new(&TABLE, "b"), Kernel::new(&TABLE, "c")];

    #[derive(Debug, Clone)]
    struct Plain(Vec<(CommandKind, Vec<u32>)>);

    /// Applies `find` to two graphs.
    fn compare<T>(target: &Plain, source: &Plain, find: impl FnOnce(&Nodes<'_>, &Nodes<'_>) -> T) -> T {
        let [old, new] = [target, source].map(|graph| {
            let mut edges = Edges::default();
            graph.0.iter().for_each(|(_, before)| edges.push(before.iter().copied()));
            (graph.0.iter().map(|(command, _)| command).collect(), edges)
        });
        find(&Nodes { commands: old.0, edges: &old.1 }, &Nodes { commands: new.0, edges: &new.1 })
    }

    fn kind(command: Command) -> CommandKind {
        command.into_parts().0
    }

    fn kernel(which: usize, value: f32, range: usize) -> CommandKind {
        kind(Command::parallel_for(range, KernelCall::new(&KERNELS[which]).value(value).value(7_u32)))
    }

    fn graphs() -> impl Strategy<Value = Plain> {
        let node = (0..4_usize, any::<f32>(), 1..100_usize, prop::collection::vec(any::<Index>(), 0..4));
        prop::collection::vec(node, 1..20).prop_map(|nodes| {
            let node = |(at, (which, value, range, after)): (usize, (usize, f32, usize, Vec<Index>))| {
                let command = if which == 3 { CommandKind::Empty } else { kernel(which, value, range) };
                let mut before: Vec<u32> = Vec::new();
                for index in after.iter().filter(|_| at > 0).map(|index| index.index(at) as u32) {
                    if !before.contains(&index) {
                        before.push(index);
                    }
                }
                (command, before)
            };
            Plain(nodes.into_iter().enumerate().map(node).collect())
        })
    }

    proptest! {
        #[test]
        fn values_and_ranges_are_no_difference(mut graph in graphs(), value in any::<f32>(), range in 1..9_usize) {
            let before = graph.clone();
            for (command, _) in &mut graph.0 {
                if let CommandKind::Kernel { call, .. } = command {
                    let which = KERNELS.iter().position(|kernel| kernel.name() == call.kernel_name()).unwrap();
                    *command = kernel(which, value, range);
                }
            }
            prop_assert_eq!(compare(&before, &graph, first_difference), None);
            prop_assert!(compare(&before, &graph, check).is_ok());
        }

        #[test]
        fn the_first_node_that_differs_is_named(graph in graphs(), at in any::<Index>(), how in 0..4_usize) {
            let at = at.index(graph.0.len());
            let mut other = graph.clone();
            let (command, before) = &mut other.0[at];
            match how {
                0 => *command = match command {
                    CommandKind::Empty => kernel(0, 1.0, 1),
                    _ => CommandKind::Empty,
                },
                1 => match command {
                    CommandKind::Kernel { call, .. } if call.kernel_name() == "a" => *command = kernel(1, 1.0, 1),
                    _ => *command = kernel(0, 1.0, 1),
                },
                2 => match before.pop() {
                    Some(_) => {}
                    None => before.push(at as u32),
                },
                _ if before.len() > 1 => before.reverse(),
                _ => *command = kind(Command::single_task(KernelCall::new(&KERNELS[2]).value(7_u32))),
            }
            if how == 1 && matches!((&graph.0[at].0, &other.0[at].0),
                (CommandKind::Kernel { call: a, .. }, CommandKind::Kernel { call: b, .. }) if a.same_kernel(b)) {
                return Ok(());
            }
            for difference in [compare(&graph, &other, first_difference), compare(&other, &graph, first_difference)] {
                let difference = difference.unwrap();
                let named = format!("node {at} ");
                prop_assert!(difference.starts_with(&named), "{}", difference);
            }
        }

        #[test]
        fn a_node_more_or_less_is_named(graph in graphs()) {
            let mut longer = graph.clone();
            longer.0.push((CommandKind::Empty, Vec::new()));
            let count = graph.0.len();
            prop_assert_eq!(compare(&graph, &longer, first_difference), Some(format!("{} nodes, the executable has {count}", count + 1)));
            prop_assert_eq!(compare(&longer, &graph, first_difference), Some(format!("{count} nodes, the executable has {}", count + 1)));
        }
    }

    #[test]
    fn nodes_that_are_no_kernels_are_named() {
        let graph = Plain(vec![(kernel(0, 1.0, 1), vec![]), (kind(Command::host_task(|| ())), vec![0])]);
        let error = compare(&graph, &graph, check).unwrap_err().to_string();
        assert!(error.contains("node 1 is a host_task"), "{error}");
    }
}
