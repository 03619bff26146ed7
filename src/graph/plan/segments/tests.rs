#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;
use proptest::prelude::*;

const MACHINE: Machine = Machine { cap_ns: 12_000.0, cores: 2, always: false };

/// A candidate that costs so many nanoseconds.
fn candidate_of(cost_ns: f64, kind: Kind) -> Candidate {
    let of = |steps| Candidate { kind, steps, has_loops: false };
    let (none, one) = (of(0.0).cost_ns(), of(1.0).cost_ns());
    of(if kind == Kind::Nothing { 0.0 } else { (cost_ns - none) / (one - none) })
}

fn node(cost_ns: f64) -> Candidate {
    candidate_of(cost_ns, Kind::Of(0, None))
}

fn grouped(x: u32) -> Candidate {
    candidate_of(100.0, Kind::Of(0, Some([x, 1, 1])))
}

fn chain(count: usize) -> Vec<Vec<u32>> {
    (0..count as u32).map(|i| i.checked_sub(1).into_iter().collect()).collect()
}

fn cut_graph(nodes: &[Candidate], edges: &[Vec<u32>]) -> Vec<Unit> {
    cut(nodes, |node| edges[node as usize].as_slice(), &MACHINE)
}

fn nodes(segments: &[Unit]) -> Vec<Vec<u32>> {
    segments.iter().map(|segment| segment.nodes().to_vec()).collect()
}

#[test]
fn a_chain_of_small_nodes_is_one_segment() {
    let segments = cut_graph(&[node(100.0); 1000], &chain(1000));
    assert_eq!(nodes(&segments), [(0..1000).collect::<Vec<u32>>()]);
    assert!(matches!(&segments[..], [Unit::TaskList(run)] if run.groups == 1 && run.program == Some(0)));
    assert!(cut_graph(&[], &[]).is_empty());
}

#[test]
fn large_and_foreign_nodes_cut() {
    let alone = candidate_of(1.0, Kind::Standalone(0));
    let other = candidate_of(1.0, Kind::Of(1, None));
    let all =
        [node(100.0), node(100.0), node(1e5), node(100.0), node(9000.0), alone, node(100.0), other, other];
    let segments = cut_graph(&all, &chain(9));
    let [list, launch] = [|nodes: &[u32]| (true, nodes.to_vec()), |nodes: &[u32]| (false, nodes.to_vec())];
    let kinds: Vec<_> =
        segments.iter().map(|s| (matches!(s, Unit::TaskList(_)), s.nodes().to_vec())).collect();
    // One node by itself is better launched.
    let expected = [list(&[0, 1]), launch(&[2]), list(&[3, 4]), launch(&[5]), launch(&[6]), list(&[7, 8])];
    assert_eq!(kinds, expected);
}

#[test]
fn small_nodes_beside_large_ones_stay_together() {
    // Two chains: even nodes are large, odd ones small.
    let all: Vec<_> = (0..20).map(|i| if i % 2 == 0 { node(1e5) } else { node(10.0) }).collect();
    let edges: Vec<Vec<u32>> = (0..20_u32).map(|i| i.checked_sub(2).into_iter().collect()).collect();
    let segments = cut_graph(&all, &edges);
    assert_eq!(segments.len(), 11);
    assert_eq!(segments[0].nodes().len(), 10);
}

#[test]
fn no_list_has_a_task_of_4_billion_work_items() {
    let candidate =
        Candidate { kind: Kind::Of(0, None), steps: (u64::from(u32::MAX) + 1) as f64, has_loops: false };
    for candidate in [candidate, candidate.on_gpu()] {
        assert!(!candidate.is_small(f64::INFINITY), "{} ns", candidate.cost_ns());
    }
}

#[test]
fn long_runs_are_cut() {
    let segments = cut_graph(&[node(10_000.0); 2500], &chain(2500));
    let sizes: Vec<usize> = segments.iter().map(|segment| segment.nodes().len()).collect();
    assert_eq!(sizes, [1000, 1000, 500]);
}

#[test]
fn levels_with_much_work_are_shared() {
    // Two levels of 100 nodes, each of 1 µs.
    let edges: Vec<Vec<u32>> =
        (0..200).map(|i| if i < 100 { vec![] } else { vec![i - 100, (i + 1) % 100] }).collect();
    let segments = cut_graph(&[node(1001.0); 200], &edges);
    assert_eq!(segments.len(), 2);
    assert!(segments.iter().all(|segment| matches!(segment, Unit::TaskList(run) if run.groups == 25)));
    // Little work is not.
    assert_eq!(nodes(&cut_graph(&[node(10.0); 200], &edges)).len(), 1);
}

#[test]
fn large_nodes_that_do_not_depend_on_each_other_are_shared_where_there_is_no_cap() {
    let machine = Machine { cap_ns: f64::INFINITY, ..MACHINE };
    let units = cut(&[node(50_000.0); 10], |_| &[], &machine);
    let Unit::TaskList(run) = &units[0] else { panic!("{units:?}") };
    assert_eq!((units.len(), run.groups, run.nodes.len()), (1, 10, 10));
}

#[test]
fn chains_side_by_side_run_as_wholes() {
    // Eight chains of a hundred, a node of each in turn; what begins and ends all of them is not in
    // it.
    let begin = 1;
    let mut edges = vec![vec![]];
    edges.extend((0..800_u32).map(|i| vec![if i < 8 { 0 } else { begin + i - 8 }]));
    edges.push((0..8).map(|i| begin + 792 + i).collect());
    let segments = cut_graph(&[node(200.0); 802], &edges);
    let Unit::TaskList(run) = &segments[1] else { panic!("{segments:?}") };
    assert_eq!((segments.len(), run.groups, run.nodes.len()), (3, 8, 800));
    assert_eq!(run.lanes, (1..9).map(|lane| lane * 100).collect::<Vec<u32>>());
    let mut numbering = run.numbering();
    let places: Vec<_> = (0..800).map(|_| numbering.place(true).unwrap()).collect();
    assert_eq!((&places[..3], &places[100..103]), (&[0, 8, 16][..], &[1, 9, 17][..]));
    assert_eq!(numbering.count(), 800);
}

#[test]
fn nodes_with_barriers_run_with_those_of_their_size() {
    let nothing = candidate_of(0.0, Kind::Nothing);
    let all = [node(1.0), grouped(64), nothing, node(1.0), grouped(64), grouped(32), node(1.0)];
    let segments = cut_graph(&all, &chain(7));
    assert_eq!(nodes(&segments), [vec![0, 1, 2, 3, 4], vec![5, 6]]);
    let sizes: Vec<_> =
        segments.iter().map(|s| matches!(s, Unit::TaskList(run) if run.local.is_some())).collect();
    assert_eq!(sizes, [true, true]);
}

fn candidate() -> impl Strategy<Value = Candidate> {
    let local = prop_oneof![Just(None), (1..4_u32).prop_map(|x| Some([x * 16, 1, 1]))];
    let kind = prop_oneof![
        1 => Just(Kind::Nothing),
        2 => Just(Kind::AnyList),
        6 => (0..2_u32, local).prop_map(|(program, local)| Kind::Of(program, local)),
        1 => Just(Kind::Standalone(0)),
    ];
    let cost = prop_oneof![Just(10.0), Just(3000.0), Just(1e5), Just(1e8)];
    (kind, cost).prop_map(|(kind, cost_ns)| match kind {
        Kind::Nothing => candidate_of(0.0, kind),
        kind => candidate_of(cost_ns, kind),
    })
}

proptest! {
    #[test]
    fn every_node_runs_once_after_what_it_depends_on_where_it_can(
        graph in prop::collection::vec((candidate(), prop::collection::vec(any::<prop::sample::Index>(), 0..4)), 0..60),
        cores in 1..5_u32,
        always in any::<bool>(),
    ) {
        let edges: Vec<Vec<u32>> = graph.iter().enumerate()
            .map(|(i, (_, before))| {
                let mut before: Vec<u32> = before.iter().filter(|_| i > 0).map(|at| at.index(i) as u32).collect();
                before.dedup();
                before
            })
            .collect();
        let candidates: Vec<Candidate> = graph.iter().map(|(candidate, _)| *candidate).collect();
        let machine = Machine { cap_ns: if always { f64::INFINITY } else { 12_000.0 }, cores, always };
        let segments = cut(&candidates, |node| edges[node as usize].as_slice(), &machine);
        // Segment and place in it; nodes of a parallel segment have no order among them.
        let mut when = vec![None; graph.len()];
        // What each node's group runs in order, where groups have their own.
        let mut lanes = vec![None; graph.len()];
        for (number, segment) in segments.iter().enumerate() {
            let Unit::TaskList(run) = segment else {
                prop_assert!(when[segment.nodes()[0] as usize].replace((number, 0)).is_none());
                continue;
            };
            prop_assert!(run.groups >= 1 && run.nodes.len() > usize::from(!always));
            prop_assert!(run.lanes.is_empty() || run.lanes.len() == run.groups as usize);
            for (place, node) in run.nodes.iter().enumerate() {
                let lane = run.lanes.iter().position(|end| (place as u32) < *end);
                let place = if run.groups > 1 && lane.is_none() { 0 } else { place };
                prop_assert!(when[*node as usize].replace((number, place)).is_none());
                lanes[*node as usize] = lane;
                let candidate = candidates[*node as usize];
                let fits = match candidate.kind {
                    Kind::Nothing | Kind::AnyList => true,
                    Kind::Of(program, local) => {
                        run.program == Some(program) && (local.is_none() || local == run.local)
                    }
                    Kind::Standalone(_) => false,
                };
                prop_assert!(fits && candidate.cost_ns() < LONGEST_NS, "{:?} in {:?}", candidate, run);
            }
            let cost: f64 = run.nodes.iter().map(|node| candidates[*node as usize].cost_ns()).sum();
            prop_assert!((cost - run.cost_ns).abs() <= 1e-6 * cost);
            prop_assert!(cost <= LONGEST_NS * f64::from(run.groups.min(cores)) + 1e6);
        }
        prop_assert!(when.iter().all(Option::is_some));
        for (node, before) in edges.iter().enumerate() {
            for before in before {
                let (first, then) = (when[*before as usize].unwrap(), when[node].unwrap());
                prop_assert!(first < then);
                prop_assert!(first.0 != then.0 || lanes[*before as usize] == lanes[node]);
            }
        }
    }
}
