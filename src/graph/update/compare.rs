//! Whether one graph can give another one its parameters and ranges: the topology and the kernels
//! must be the same.

use std::sync::Arc;

use crate::command::{Argument, CommandKind, KernelCall};
use crate::graph::model::describe::title;
use crate::graph::model::snapshot::Frozen;
use crate::graph::model::structure::NodeId;
use crate::graph::plan::flatten::Flat;
use crate::{Error, NodeType, Result};

/// Nodes with their commands and edges, by number.
pub(crate) trait Nodes {
    fn len(&self) -> usize;
    fn command(&self, node: usize) -> Option<&CommandKind>;
    /// What a node depends on, in the order in which the edges were made.
    fn predecessors(&self, node: usize) -> impl Iterator<Item = usize>;
}

impl Nodes for Frozen {
    fn len(&self) -> usize {
        self.len()
    }

    fn command(&self, node: usize) -> Option<&CommandKind> {
        self.commands().get(node).map(|command| &**command)
    }

    fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> {
        self.predecessors(NodeId::new(node as u32)).iter().map(|node| node.index())
    }
}

/// Refuses a graph as the source of an update of another one unless their structures are the same.
/// They must have the same nodes with the same kernels in the same order. Their edges must be the
/// same, made in the same order.
///
/// # Errors
/// [`Invalid`](crate::ErrorKind::Invalid) naming the first difference, or the first node that no
/// graph can update another one with.
pub(crate) fn check(target: &impl Nodes, source: &impl Nodes) -> Result<()> {
    for node in 0..source.len() {
        let ty = source.command(node).map_or(NodeType::Empty, NodeType::of);
        if !matches!(ty, NodeType::Kernel | NodeType::Empty | NodeType::Barrier | NodeType::Subgraph) {
            return Err(Error::invalid(format!(
                "node {node} is a {ty}, and whole graphs are updated with kernels only (sycl_ext_oneapi_graph, section 7.5.2)"
            ))
            .remedy("update the node itself: `executable.update(&node)`"));
        }
    }
    match first_difference(target, source) {
        Some(difference) => Err(Error::invalid(format!("the graphs differ: {difference}"))
            .remedy("build the graph in the same way as the one that was finalized, or finalize it")),
        None => Ok(()),
    }
}

/// The commands that an executable is updated with by a graph that is the same, with their places
/// among its own.
///
/// # Errors
/// As [`check`].
pub(crate) fn whole(target: &Frozen, flat: &Flat, source: &Frozen) -> Result<Vec<(usize, Arc<CommandKind>)>> {
    check(&Now { frozen: target, flat }, source)?;
    let mut changes = Vec::new();
    for (node, command) in source.commands().iter().enumerate() {
        match (&**command, target.commands().get(node).map(|command| &**command)) {
            (CommandKind::Graph(new), Some(CommandKind::Graph(old))) => {
                let first = flat.sub_graph(node);
                let first = first.ok_or_else(|| Error::bug(format!("sub-graph node {node} has no place")))?;
                let new = new.flat();
                check(&Part { edges: &old.flat(), commands: flat, first }, &*new)
                    .map_err(|error| error.at(format!("sub-graph node {node}")))?;
                let commands = (0..new.len()).filter_map(|at| new.command(at).cloned());
                changes.extend((first..).zip(commands));
            }
            (CommandKind::Kernel { .. }, _) => {
                let at = flat.position(node);
                let at = at.ok_or_else(|| Error::bug(format!("kernel node {node} has no place")))?;
                changes.push((at as usize, Arc::clone(command)));
            }
            _ => {}
        }
    }
    changes.retain(|(_, command)| matches!(&**command, CommandKind::Kernel { .. }));
    Ok(changes)
}

/// A graph that was finalized, with the commands that its executable has now.
struct Now<'a> {
    frozen: &'a Frozen,
    flat: &'a Flat,
}

impl Nodes for Now<'_> {
    fn len(&self) -> usize {
        self.frozen.len()
    }

    fn command(&self, node: usize) -> Option<&CommandKind> {
        match Nodes::command(self.frozen, node) {
            Some(sub @ CommandKind::Graph(_)) => Some(sub),
            _ => self.flat.command(self.flat.position(node)? as usize).map(|command| &**command),
        }
    }

    fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> {
        Nodes::predecessors(self.frozen, node)
    }
}

/// A sub-graph, with the commands that the executable has for it now, from `first` on.
struct Part<'a> {
    edges: &'a Flat,
    commands: &'a Flat,
    first: usize,
}

impl Nodes for Part<'_> {
    fn len(&self) -> usize {
        self.edges.len()
    }

    fn command(&self, node: usize) -> Option<&CommandKind> {
        self.commands.command(self.first + node).map(|command| &**command)
    }

    fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> {
        Nodes::predecessors(self.edges, node)
    }
}

impl Nodes for Flat {
    fn len(&self) -> usize {
        self.len()
    }

    fn command(&self, node: usize) -> Option<&CommandKind> {
        self.command(node).map(|command| &**command)
    }

    fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> {
        self.waits(node).iter().map(|wait| *wait as usize)
    }
}

/// The first thing that an update cannot change, in words.
pub(crate) fn first_difference(target: &impl Nodes, source: &impl Nodes) -> Option<String> {
    let common = target.len().min(source.len());
    let of_node = |node| {
        let difference = match (target.command(node), source.command(node)) {
            (Some(target), Some(source)) => command_difference(target, source),
            _ => None,
        };
        difference.or_else(|| edge_difference(target, source, node)).map(|what| format!("node {node} {what}"))
    };
    (0..common).find_map(of_node).or_else(|| {
        (target.len() != source.len())
            .then(|| format!("{} nodes, the executable has {}", source.len(), target.len()))
    })
}

fn edge_difference(target: &impl Nodes, source: &impl Nodes, node: usize) -> Option<String> {
    if target.predecessors(node).eq(source.predecessors(node)) {
        return None;
    }
    let list = |nodes: Vec<usize>| format!("{nodes:?}");
    let (target, source): (Vec<usize>, Vec<usize>) =
        (target.predecessors(node).collect(), source.predecessors(node).collect());
    Some(format!("depends on {}, in the executable on {}", list(source), list(target)))
}

/// What an update cannot change of a command.
pub(crate) fn command_difference(target: &CommandKind, source: &CommandKind) -> Option<String> {
    match (target, source) {
        (CommandKind::Kernel { call: target, .. }, CommandKind::Kernel { call: source, .. }) => {
            call_difference(target, source)
        }
        (target, source) => (NodeType::of(target) != NodeType::of(source))
            .then(|| format!("is {}, in the executable {}", title(source), title(target))),
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
    let pairs = target.arguments().iter().zip(source.arguments()).enumerate();
    pairs
        .filter(|(_, (target, source))| !same_type(target, source))
        .map(|(index, _)| index)
        .next()
        .map(|index| format!("has an argument {index} of another type than in the executable"))
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
    use crate::{Command, ImageTable, Kernel};

    static TABLE: ImageTable = ImageTable::generated("t", &[]);
    static KERNELS: [Kernel; 3] =
        [Kernel::new(&TABLE, "a"), Kernel::new(&TABLE, "b"), Kernel::new(&TABLE, "c")];

    #[derive(Debug, Clone)]
    struct Plain(Vec<(CommandKind, Vec<usize>)>);

    impl Nodes for Plain {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn command(&self, node: usize) -> Option<&CommandKind> {
            self.0.get(node).map(|(command, _)| command)
        }

        fn predecessors(&self, node: usize) -> impl Iterator<Item = usize> {
            self.0[node].1.iter().copied()
        }
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
                let mut before: Vec<usize> = Vec::new();
                for index in after.iter().filter(|_| at > 0).map(|index| index.index(at)) {
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
            prop_assert_eq!(first_difference(&before, &graph), None);
            prop_assert!(check(&before, &graph).is_ok());
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
                    None => before.push(at),
                },
                _ if before.len() > 1 => before.reverse(),
                _ => *command = kind(Command::single_task(KernelCall::new(&KERNELS[2]).value(7_u32))),
            }
            if how == 1 && matches!((&graph.0[at].0, &other.0[at].0),
                (CommandKind::Kernel { call: a, .. }, CommandKind::Kernel { call: b, .. }) if a.same_kernel(b)) {
                return Ok(());
            }
            for difference in [first_difference(&graph, &other), first_difference(&other, &graph)] {
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
            prop_assert_eq!(first_difference(&graph, &longer), Some(format!("{} nodes, the executable has {count}", count + 1)));
            prop_assert_eq!(first_difference(&longer, &graph), Some(format!("{count} nodes, the executable has {}", count + 1)));
        }
    }

    #[test]
    fn nodes_that_are_no_kernels_are_named() {
        let graph = Plain(vec![(kernel(0, 1.0, 1), vec![]), (kind(Command::host_task(|| ())), vec![0])]);
        let error = check(&graph, &graph).unwrap_err().to_string();
        assert!(error.contains("node 1 is a host_task"), "{error}");
    }
}
