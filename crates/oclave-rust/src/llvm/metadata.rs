//! The metadata of places: `!DILocation` and what it refers to. All other metadata is dropped.

use std::collections::BTreeMap;

/// A place in a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// As rustc was given it.
    pub file: String,
    /// From 1 on.
    pub line: u32,
    /// From 1 on; 0 where unknown.
    pub column: u32,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 { write!(f, ":{}", self.column) } else { Ok(()) }
    }
}

/// A node of metadata, with the fields that tell places.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) scope: Option<u32>,
    pub(crate) inlined_at: Option<u32>,
    pub(crate) file: Option<u32>,
    pub(crate) filename: Option<String>,
}

/// Nodes by number.
#[derive(Debug, Clone, Default)]
pub(crate) struct Metadata {
    nodes: BTreeMap<u32, Node>,
}

/// Chains of scopes and inlined calls end after so many steps.
const LONGEST_CHAIN: usize = 256;

impl Metadata {
    pub(crate) fn insert(&mut self, id: u32, node: Node) {
        self.nodes.insert(id, node);
    }

    /// The places of a location, the innermost inlined function first.
    pub(crate) fn places(&self, location: u32) -> Vec<Place> {
        let mut places = Vec::new();
        let mut next = Some(location);
        while let Some(node) = next.and_then(|id| self.nodes.get(&id)) {
            if places.len() >= LONGEST_CHAIN {
                break;
            }
            if let Some(file) = node.scope.and_then(|scope| self.file(scope)) {
                places.push(Place { file, line: node.line, column: node.column });
            }
            next = node.inlined_at;
        }
        places
    }

    /// The place of a function.
    pub(crate) fn function(&self, subprogram: u32) -> Option<Place> {
        let node = self.nodes.get(&subprogram)?;
        Some(Place { file: self.file(subprogram)?, line: node.line, column: 0 })
    }

    fn file(&self, scope: u32) -> Option<String> {
        let mut next = Some(scope);
        for _ in 0..LONGEST_CHAIN {
            let node = self.nodes.get(&next?)?;
            if let Some(name) = &node.filename {
                return Some(name.clone());
            }
            next = node.file.or(node.scope);
        }
        None
    }
}
