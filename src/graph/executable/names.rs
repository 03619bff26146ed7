//! The names of an executable graph's nodes.

use std::collections::HashMap;

use crate::command::{Name, node_place, within};
use crate::graph::model::snapshot::Frozen;
use crate::graph::plan::flatten::Flat;
use crate::{Error, MakeError as _};

/// The names of the nodes that have one.
#[derive(Debug, Default)]
pub(in crate::graph) struct Names {
    /// By number of the graph's node.
    nodes: HashMap<u32, Name>,
    /// Of the commands in sub-graphs, by place in the flat graph.
    inside: HashMap<u32, Name>,
}

impl Names {
    /// `sub_graph` gives the flat graph of a node that is a sub-graph, and its names.
    pub(in crate::graph) fn new<'s>(
        frozen: &Frozen,
        flat: &Flat,
        sub_graph: impl Fn(usize) -> Option<(&'s Flat, &'s Self)>,
    ) -> Self {
        let mut inside = HashMap::new();
        for node in 0..frozen.commands.len() {
            let (Some(first), Some((sub, names))) = (flat.sub_graph(node), sub_graph(node)) else { continue };
            let outer = frozen.names.get(&(node as u32));
            if outer.is_none() && names.is_empty() {
                continue;
            }
            for at in 0..sub.len() {
                let name = match (outer, names.of(sub, at)) {
                    (Some(outer), Some(inner)) => within(outer, inner),
                    (Some(one), None) | (None, Some(one)) => Name::clone(one),
                    (None, None) => continue,
                };
                inside.insert((first + at) as u32, name);
            }
        }
        Self { nodes: frozen.names.clone(), inside }
    }

    fn is_empty(&self) -> bool {
        self.nodes.is_empty() && self.inside.is_empty()
    }

    /// The name of a command, by its place in the flat graph.
    pub(in crate::graph) fn of(&self, flat: &Flat, at: usize) -> Option<&Name> {
        if self.is_empty() {
            return None;
        }
        self.inside.get(&(at as u32)).or_else(|| self.nodes.get(&flat.origin(at)))
    }

    /// The names of the graph's nodes with these numbers, as far as they have one.
    pub(in crate::graph) fn of_nodes(&self, nodes: impl IntoIterator<Item = usize>) -> Vec<String> {
        if self.nodes.is_empty() {
            return Vec::new();
        }
        let name = |node| self.nodes.get(&(node as u32)).map(|name| name.to_string());
        nodes.into_iter().filter_map(name).collect()
    }

    /// Adds the names of nodes to an error that has their numbers.
    pub(in crate::graph) fn in_error(&self, error: Error) -> Error {
        if self.nodes.is_empty() {
            return error;
        }
        error.map_places(|place| {
            let number = place.strip_prefix("node ").and_then(|number| number.parse::<u32>().ok());
            match number.and_then(|number| Some((number, self.nodes.get(&number)?))) {
                Some((number, name)) => node_place(number, Some(name)),
                None => place,
            }
        })
    }
}
