//! What random programs of recorded and added commands become, against a model that knows only what
//! the queues promise: who has to come before whom. Petgraph tells who reaches whom in it.

use oclave::graph::Node;
use oclave::{Command, Context, ErrorKind, Event, Graph, Queue};
use petgraph::algo::has_path_connecting;
use petgraph::graph::{DiGraph, NodeIndex};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, TestRunner};

/// Two of them in order, two out of order.
const QUEUES: usize = 4;

#[derive(Debug, Clone)]
enum Step {
    Begin(usize),
    End(usize),
    EndAll,
    Submit { queue: usize, what: What, after: Vec<Index> },
    Add { after: Vec<Index>, events: Vec<Index>, all_leaves: bool },
    Edge(Index, Index),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Task,
    Marker,
    Barrier,
}

fn step() -> impl Strategy<Value = Step> {
    let some = || prop::collection::vec(any::<Index>(), 0..3);
    let what = prop_oneof![6 => Just(What::Task), 1 => Just(What::Marker), 2 => Just(What::Barrier)];
    prop_oneof![
        3 => (0..QUEUES).prop_map(Step::Begin),
        1 => (0..QUEUES).prop_map(Step::End),
        1 => Just(Step::EndAll),
        20 => (0..QUEUES, what, some()).prop_map(|(queue, what, after)| Step::Submit { queue, what, after }),
        4 => (some(), some(), any::<bool>())
            .prop_map(|(after, events, all_leaves)| Step::Add { after, events, all_leaves }),
        4 => (any::<Index>(), any::<Index>()).prop_map(|(from, to)| Step::Edge(from, to)),
    ]
}

/// What the queues promise.
#[derive(Default)]
struct Model {
    graph: DiGraph<(), ()>,
    recording: [bool; QUEUES],
    /// Of each queue, in the order of submission.
    commands: [Vec<(NodeIndex, What)>; QUEUES],
}

impl Model {
    fn before(&mut self, node: NodeIndex, earlier: impl IntoIterator<Item = NodeIndex>) {
        for earlier in earlier {
            self.graph.update_edge(earlier, node, ());
        }
    }

    fn submit(&mut self, queue: usize, what: What, after: &[usize]) {
        let in_order = queue < 2;
        let joins = in_order || (what != What::Task && after.is_empty());
        let node = self.graph.add_node(());
        let commands = self.commands[queue].clone();
        let before = commands.iter().filter(|(_, earlier)| joins || *earlier == What::Barrier);
        self.before(node, before.map(|(earlier, _)| *earlier));
        self.before(node, after.iter().map(|at| NodeIndex::new(*at)));
        self.commands[queue].push((node, what));
    }
}

struct Run {
    queues: Vec<Queue>,
    graph: Graph,
    model: Model,
    nodes: Vec<Node>,
    /// Of the nodes that were recorded.
    events: Vec<(usize, Event)>,
}

impl Run {
    fn new(context: &Context) -> Self {
        let builder = |at| match at {
            0 | 1 => Queue::builder(context),
            _ => Queue::builder(context).out_of_order(),
        };
        Self {
            queues: (0..QUEUES).map(|at| builder(at).build().unwrap()).collect(),
            graph: Graph::new(context, context.device()).unwrap(),
            model: Model::default(),
            nodes: Vec::new(),
            events: Vec::new(),
        }
    }

    fn events(&self, which: &[Index]) -> Vec<(usize, Event)> {
        if self.events.is_empty() {
            return Vec::new();
        }
        which.iter().map(|index| index.get(&self.events).clone()).collect()
    }

    fn step(&mut self, step: Step) {
        let recording = self.model.recording.contains(&true);
        match step {
            Step::Begin(queue) => {
                let changed = self.graph.begin_recording(&self.queues[queue]).unwrap();
                assert_eq!(changed, !std::mem::replace(&mut self.model.recording[queue], true));
            }
            Step::End(queue) => {
                let changed = self.graph.end_recording_of(&self.queues[queue]).unwrap();
                assert_eq!(changed, std::mem::take(&mut self.model.recording[queue]));
            }
            Step::EndAll => {
                assert_eq!(self.graph.end_recording(), recording);
                self.model.recording = [false; QUEUES];
            }
            Step::Submit { queue, what, after } => {
                let after = self.events(&after);
                let command = match what {
                    What::Task => Command::host_task(|| ()),
                    What::Marker => Command::marker(),
                    What::Barrier => Command::barrier(),
                };
                let command = after.iter().fold(command, |command, (_, event)| command.after(event));
                let takes = self.model.recording[queue] || (!after.is_empty() && recording);
                if !takes && after.is_empty() {
                    // It would run.
                    return;
                }
                let result = self.queues[queue].submit(command);
                if !takes {
                    assert_eq!(result.unwrap_err().kind(), ErrorKind::Invalid, "no queue records");
                    return;
                }
                self.model.recording[queue] = true;
                let event = result.unwrap();
                let node = Node::from_event(&event).unwrap();
                assert_eq!(node.index(), self.nodes.len());
                self.events.push((node.index(), event));
                self.nodes.push(node);
                self.model.submit(queue, what, &after.iter().map(|(at, _)| *at).collect::<Vec<_>>());
            }
            Step::Add { after, events, all_leaves } => {
                let events = self.events(&events);
                let named: Vec<Node> = match self.nodes.as_slice() {
                    [] => Vec::new(),
                    nodes => after.iter().map(|index| index.get(nodes).clone()).collect(),
                };
                let builder = self.graph.after(&named);
                let builder = if all_leaves { builder.after_all_leaves() } else { builder };
                let command =
                    events.iter().fold(Command::empty(), |command, (_, event)| command.after(event));
                self.nodes.push(builder.add(command).unwrap());
                let node = self.model.graph.add_node(());
                let earlier: Vec<usize> = if all_leaves {
                    (0..node.index()).collect()
                } else {
                    named.iter().map(Node::index).chain(events.iter().map(|(at, _)| *at)).collect()
                };
                self.model.before(node, earlier.into_iter().map(NodeIndex::new));
            }
            Step::Edge(..) if self.nodes.is_empty() => {}
            Step::Edge(from, to) => {
                let (from, to) = (from.get(&self.nodes), to.get(&self.nodes));
                let (a, b) = (NodeIndex::new(from.index()), NodeIndex::new(to.index()));
                let result = self.graph.make_edge(from, to);
                if recording || has_path_connecting(&self.model.graph, b, a, None) {
                    assert_eq!(result.unwrap_err().kind(), ErrorKind::Invalid);
                } else {
                    result.unwrap();
                    self.model.graph.update_edge(a, b, ());
                }
            }
        }
    }

    /// The graph orders what the model orders, and nothing else.
    fn compare(&self) {
        let mut ours = DiGraph::<(), ()>::new();
        for _ in &self.nodes {
            ours.add_node(());
        }
        assert_eq!((self.graph.len(), self.nodes.len()), (self.nodes.len(), self.model.graph.node_count()));
        let mut edges = 0;
        for node in &self.nodes {
            for before in node.predecessors() {
                edges += 1;
                let (from, to) = (NodeIndex::new(before.index()), NodeIndex::new(node.index()));
                assert!(ours.find_edge(from, to).is_none(), "an edge is there once");
                ours.add_edge(from, to, ());
                assert!(before.successors().contains(node));
            }
        }
        assert_eq!(self.graph.edge_count(), edges);
        for a in ours.node_indices() {
            for b in ours.node_indices() {
                assert_eq!(
                    has_path_connecting(&ours, a, b, None),
                    has_path_connecting(&self.model.graph, a, b, None),
                    "{} before {}",
                    a.index(),
                    b.index()
                );
            }
        }
        let roots: Vec<usize> = self.graph.roots().iter().map(Node::index).collect();
        let expected: Vec<usize> =
            self.model.graph.externals(petgraph::Direction::Incoming).map(NodeIndex::index).collect();
        assert_eq!(roots, expected);
    }
}

#[device_test]
fn random_programs_order_what_the_queues_promise(context: Context) {
    let mut runner = TestRunner::new(Config { cases: 400, failure_persistence: None, ..Config::default() });
    let steps = prop::collection::vec(step(), 0..40);
    runner
        .run(&steps, |steps| {
            let mut run = Run::new(&context);
            steps.into_iter().for_each(|step| run.step(step));
            run.compare();
            Ok(())
        })
        .unwrap();
}

#[device_test]
fn recorded_graphs_equal_explicit_ones(context: Context) {
    let queue = Queue::builder(&context).out_of_order().build().unwrap();
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let dag = prop::collection::vec(prop::collection::vec(any::<Index>(), 0..4), 1..40);
    runner
        .run(&dag, |dag| {
            let (explicit, recorded) = (Graph::from_queue(&queue), Graph::from_queue(&queue));
            let recording = recorded.record(&queue).unwrap();
            let (mut nodes, mut events): (Vec<Node>, Vec<Event>) = (Vec::new(), Vec::new());
            for after in &dag {
                let task = Command::host_task(|| ());
                let chosen: Vec<usize> = match nodes.len() {
                    0 => Vec::new(),
                    len => after.iter().map(|index| index.index(len)).collect(),
                };
                let before: Vec<&Node> = chosen.iter().map(|at| &nodes[*at]).collect();
                let node = explicit.after(&before).add(task.clone()).unwrap();
                let before: Vec<&Event> = chosen.iter().map(|at| &events[*at]).collect();
                events.push(queue.after(&before).submit(task).unwrap());
                nodes.push(node);
            }
            recording.end();
            let edges = |graph: &Graph| -> Vec<Vec<usize>> {
                let before = |node: &Node| node.predecessors().iter().map(Node::index).collect();
                graph.nodes().iter().map(before).collect()
            };
            prop_assert_eq!(edges(&explicit), edges(&recorded));
            Ok(())
        })
        .unwrap();
}
