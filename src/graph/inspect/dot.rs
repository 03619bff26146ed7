//! Drawing a graph: DOT, the language of Graphviz, and SVG by way of it.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::Arc;

use super::segments;
use crate::MakeError as _;
use crate::command::CommandKind;
use crate::dag::NodeId;
use crate::graph::executable::body;
use crate::graph::executable::handle::ExecutableGraph;
use crate::graph::executable::layout::Layout;
use crate::graph::model::describe::{details, title};
use crate::graph::model::graph::Graph;
use crate::{Error, ErrorKind, Result};

/// How much a drawing says about a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Detail {
    /// Its number, its name, its type, and the kernel's name.
    #[default]
    Brief,
    /// Also the range and arguments of a kernel, and the memory of copies and fills.
    Verbose,
}

impl Graph {
    /// The nodes and edges in DOT, the language of Graphviz. Also while a queue records to the
    /// graph, and for a graph with a cycle.
    pub fn to_dot(&self, detail: Detail) -> String {
        let mut state = self.inner().state();
        state.follow_all();
        let dag = &state.dag;
        let mut dot = format!("digraph graph_{} {{\n    node [shape=box];\n", self.id());
        let mut flows = Vec::new();
        for node in dag.ids() {
            let Some(data) = dag.payload(node) else { continue };
            let (name, text) = (node.index().to_string(), title(data.name.as_ref(), &data.command));
            node_line(&mut dot, (&name, node.index()), (&text, &data.command), detail);
            if let CommandKind::Control(_) = &*data.command {
                flows.push((name, Arc::clone(&data.command)));
            }
        }
        for node in dag.ids() {
            let edge = |to: &NodeId| format!("    n{} -> n{};\n", node.index(), to.index());
            dot.extend(dag.successors(node).iter().map(edge));
        }
        // A body may be any graph, so that none is locked meanwhile.
        drop(state);
        let bodies = flows.iter().flat_map(|(name, command)| bodies_of(name, command));
        bodies.for_each(|body| cluster(&mut dot, body, detail));
        dot.push_str("}\n");
        dot
    }

    /// Writes a drawing to a file, which replaces what was there: DOT to `*.dot`, a picture to
    /// `*.svg`. For pictures the program `dot` of Graphviz has to be on the machine.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for other endings, and when the file cannot be
    /// written; [`FeatureNotSupported`](crate::ErrorKind::FeatureNotSupported) for pictures without
    /// Graphviz.
    pub fn print(&self, path: impl AsRef<Path>, detail: Detail) -> Result<()> {
        print(path.as_ref(), || self.to_dot(detail)).map_err(|error| self.inner().at(error))
    }
}

/// An executable in DOT: see [`ExecutableGraph::to_dot`](crate::graph::ExecutableGraph::to_dot).
pub(super) fn of_executable(executable: &ExecutableGraph, detail: Detail) -> String {
    let (id, layout, prepared) = (executable.id(), executable.layout(), &*executable.prepared());
    let mut dot = format!("digraph executable_{id} {{\n    node [shape=box];\n");
    let Layout { flat, .. } = layout;
    // The number of the graph's node; in a sub-graph also that of the command in it. Others are before these, as fills are.
    let id_of = |node: usize| {
        let origin = flat.origin(node);
        let sub_graph = flat.sub_graph(origin as usize);
        match (sub_graph, sub_graph.or(flat.position(origin as usize).map(|at| at as usize))) {
            (_, Some(first)) if node < first => format!("{origin}_before_{}", first - node),
            (Some(first), _) => format!("{origin}_{}", node + 1 - first),
            (None, _) => origin.to_string(),
        }
    };
    let flat_node = |dot: &mut String, node: usize| {
        if let Some(command) = prepared.commands.get(node) {
            let text = title(layout.names.of(flat, node), &command);
            node_line(dot, (&id_of(node), flat.origin(node) as usize), (&text, &command), detail);
        }
    };
    let mut framed = vec![false; flat.len()];
    for (number, (segment, nodes)) in segments::of_flat(layout, prepared).into_iter().enumerate() {
        let _ = write!(dot, "    subgraph cluster_{number} {{\n    label=\"segment {number}: ");
        let micros = segment.estimated_ns / 1000.0;
        let (groups, size) = (segment.groups, segment.group_size);
        let _ = writeln!(dot, "{} nodes, {groups} × {size} work-items, about {micros:.0} µs\";", nodes.len());
        for node in nodes {
            if let Some(framed) = framed.get_mut(node as usize) {
                *framed = true;
            }
            flat_node(&mut dot, node as usize);
        }
        dot.push_str("    }\n");
    }
    let others = framed.iter().enumerate().filter(|(_, framed)| !**framed);
    others.for_each(|(node, _)| flat_node(&mut dot, node));
    for (partition, bodies) in layout.partitions.iter().zip(executable.bodies()) {
        for (number, body) in bodies.iter().enumerate() {
            let owner = partition.nodes.first().map_or_else(String::new, |node| id_of(*node as usize));
            cluster(&mut dot, BodyNodes { owner, number, nodes: body::nodes_of(body) }, detail);
        }
    }
    for node in 0..flat.len() {
        let to = id_of(node);
        dot.extend(flat.waits(node).iter().map(|wait| format!("    n{} -> n{to};\n", id_of(*wait as usize))));
    }
    dot.push_str("}\n");
    dot
}

/// The nodes of a body.
struct BodyNodes {
    /// The name of the node that runs it.
    owner: String,
    /// Its place among the bodies of that node.
    number: usize,
    /// Commands, and the nodes that they wait for.
    nodes: Vec<(Arc<CommandKind>, Vec<u32>)>,
}

fn bodies_of(owner: &str, command: &CommandKind) -> Vec<BodyNodes> {
    let CommandKind::Control(flow) = command else { return Vec::new() };
    let body = |(number, body)| BodyNodes { owner: owner.to_owned(), number, nodes: body::nodes(body) };
    flow.bodies.iter().enumerate().map(body).collect()
}

/// A frame with the nodes of a body, and an edge to them from the node that runs it.
fn cluster(dot: &mut String, BodyNodes { owner, number, nodes }: BodyNodes, detail: Detail) {
    if nodes.is_empty() {
        return;
    }
    let _ = writeln!(dot, "    subgraph cluster_n{owner}_{number} {{\n    label=\"body {number}\";");
    let name = |node: usize| format!("{owner}_{number}_{node}");
    for (node, (command, _)) in nodes.iter().enumerate() {
        node_line(dot, (&name(node), node), (&title(None, command), command), detail);
        bodies_of(&name(node), command).into_iter().for_each(|body| cluster(dot, body, detail));
    }
    dot.push_str("    }\n");
    for (node, (_, waits)) in nodes.iter().enumerate() {
        if waits.is_empty() {
            let _ = writeln!(dot, "    n{owner} -> n{} [style=dashed];", name(node));
        }
        for wait in waits {
            let _ = writeln!(dot, "    n{} -> n{};", name(*wait as usize), name(node));
        }
    }
}

/// A node by its name, with its number on it.
fn node_line(
    dot: &mut String,
    (name, number): (&str, usize),
    (title, command): (&str, &CommandKind),
    detail: Detail,
) {
    let _ = write!(dot, "    n{name} [label=\"{number} ");
    label(dot, title);
    if detail == Detail::Verbose {
        details(command).iter().for_each(|line| label(dot, line));
    }
    dot.push_str("\"];\n");
}

pub(super) fn print(path: &Path, dot: impl FnOnce() -> String) -> Result<()> {
    let place = |error: Error| error.at(format!("printing to {}", path.display()));
    let bytes = match path.extension().and_then(|ending| ending.to_str()) {
        Some("dot") => dot().into_bytes(),
        Some("svg") => svg(dot().into_bytes()).map_err(place)?,
        _ => return Err(place(Error::invalid("the file is neither .dot nor .svg"))),
    };
    std::fs::write(path, bytes)
        .map_err(|error| place(Error::invalid("the file cannot be written").with_source(error)))
}

/// A line of a label, aligned to the left.
fn label(dot: &mut String, line: &str) {
    for c in line.chars() {
        match c {
            '"' | '\\' => dot.extend(['\\', c]),
            c if c.is_control() => dot.push(' '),
            c => dot.push(c),
        }
    }
    dot.push_str("\\l");
}

/// Lets Graphviz draw.
fn svg(dot: Vec<u8>) -> Result<Vec<u8>> {
    let missing = |error| {
        Error::new(
            ErrorKind::FeatureNotSupported,
            "pictures are drawn by Graphviz, and its program `dot` does not start",
        )
        .with_source(error)
        .remedy("install Graphviz, or write a .dot file")
    };
    let failed = |error| Error::new(ErrorKind::Io, "Graphviz was not heard out").with_source(error);
    let mut process = Process::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    // It reads all before it writes, but it may complain while it reads.
    let writer = process.stdin.take().map(|mut input| std::thread::spawn(move || input.write_all(&dot)));
    let output = process.wait_with_output().map_err(failed)?;
    if let Some(writer) = writer {
        // Where it failed, the program has ended early, and tells why.
        let _ = writer.join();
    }
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(Error::new(ErrorKind::Io, "Graphviz failed")
            .with_build_log(String::from_utf8_lossy(&output.stderr))),
    }
}
