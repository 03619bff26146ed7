//! Partitions: what of a graph is given to the device at once, and what runs on the host.
//!
//! Each host task is a partition of its own. Nodes for the device are together when they come
//! after the same host tasks and before the same ones. So a partition waits for a host task if and
//! only if each of its nodes does. The cuts make no node wait for anything that it does not depend
//! on. Such partitions cannot form a cycle. Along a cycle, the tasks before could only grow and
//! those after only shrink, so all of it would be one partition.
//!
//! The end of a node may be asked for: the partition of such a node has only nodes that it comes
//! after. So nodes are together when they also come before the same of these nodes. Along a cycle,
//! these can only shrink, too.

use std::collections::HashMap;
use std::rc::Rc;

use super::flatten::Flat;
use crate::MakeError as _;
use crate::dag::{Edges, Waiting};
use crate::{Error, Result};

/// Some nodes of a flat graph, each after those that it waits for; one if it is a host task.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    pub(crate) host: bool,
    pub(crate) nodes: Vec<u32>,
    /// The partitions that it waits for; all are before it.
    pub(crate) waits: Vec<u32>,
}

/// The partitions, each after those that it waits for. Partitions of nodes of `ends` end with them.
///
/// # Errors
/// When an edge leads out of the graph, or nodes form a cycle: never, by construction.
pub(crate) fn partition(flat: &Flat, ends: &[u32]) -> Result<Vec<Partition>> {
    let is_host: Vec<bool> = (0..flat.len()).map(|node| flat.is_host_task(node)).collect();
    if !is_host.contains(&true) && ends.is_empty() {
        let all = Partition { host: false, nodes: (0..flat.len() as u32).collect(), waits: Vec::new() };
        return Ok(if flat.len() == 0 { Vec::new() } else { vec![all] });
    }
    let of = groups(flat, &is_host, ends)?;
    let count = of.iter().map(|group| *group as usize + 1).max().unwrap_or(0);
    let mut partitions: Vec<Partition> =
        (0..count).map(|_| Partition { host: false, nodes: Vec::new(), waits: Vec::new() }).collect();
    for (node, (group, host)) in of.iter().zip(&is_host).enumerate() {
        let partition = partitions.get_mut(*group as usize).ok_or_else(|| missing(*group))?;
        partition.host = *host;
        partition.nodes.push(node as u32);
        for wait in flat.waits(node) {
            let before = *of.get(*wait as usize).ok_or_else(|| missing(*wait))?;
            if before != *group {
                partition.waits.push(before);
            }
        }
    }
    for partition in &mut partitions {
        partition.waits.sort_unstable();
        partition.waits.dedup();
    }
    in_order(partitions)
}

fn missing(number: u32) -> Error {
    Error::bug(format!("node or partition {number} of a graph is not there"))
}

/// The number of each node's partition.
fn groups(flat: &Flat, is_host: &[bool], ends: &[u32]) -> Result<Vec<u32>> {
    let before = host_tasks(is_host, &[], 0..flat.len() as u32, flat.edges())?;
    let successors = Edges::reversed(flat.len(), |node| flat.waits(node as usize));
    let behind = host_tasks(is_host, ends, (0..flat.len() as u32).rev(), &successors)?;
    let mut numbers: HashMap<(u32, u32, Option<usize>), u32> = HashMap::new();
    let keys = before.into_iter().zip(behind).zip(is_host).enumerate();
    let of = keys.map(|(node, ((before, behind), host))| {
        let next = numbers.len() as u32;
        *numbers.entry((before, behind, host.then_some(node))).or_insert(next)
    });
    Ok(of.collect())
}

/// For each node a number of the set of host tasks that are reached from it by edges. The set also has
/// the nodes of `ends` that are reached, itself included. Equal sets have equal numbers.
fn host_tasks(
    is_host: &[bool],
    ends: &[u32],
    nodes: impl Iterator<Item = u32>,
    edges: &Edges,
) -> Result<Vec<u32>> {
    let mut tasks = HashMap::new();
    for (node, _) in is_host.iter().enumerate().filter(|(_, host)| **host) {
        tasks.insert(node, tasks.len());
    }
    let ends: HashMap<u32, usize> = ends.iter().copied().zip(tasks.len()..).collect();
    let words = (tasks.len() + ends.len()).div_ceil(64);
    let empty: Rc<[u64]> = vec![0; words].into();
    let mut sets = vec![Rc::clone(&empty)];
    let mut numbers = HashMap::from([(empty, 0_u32)]);
    let mut of = vec![0_u32; is_host.len()];
    for node in nodes {
        let next = edges.of(node);
        let set_of = |node: &u32| of.get(*node as usize).copied().ok_or_else(|| missing(*node));
        let next_sets = next.iter().map(set_of).collect::<Result<Vec<u32>>>()?;
        let task = |node: &u32| tasks.get(&(*node as usize)).copied();
        let first = next_sets.first().copied().unwrap_or(0);
        let is_first = next_sets.iter().all(|set| *set == first);
        let end = ends.get(&node).copied();
        let number = if is_first && end.is_none() && next.iter().all(|node| task(node).is_none()) {
            first
        } else {
            let mut union = vec![0_u64; words];
            for (node, set) in next.iter().zip(next_sets) {
                let set = sets.get(set as usize).ok_or_else(|| missing(*node))?;
                union.iter_mut().zip(&**set).for_each(|(all, one)| *all |= one);
                if let Some(task) = task(node) {
                    *union.get_mut(task / 64).ok_or_else(|| missing(*node))? |= 1 << (task % 64);
                }
            }
            if let Some(end) = end {
                *union.get_mut(end / 64).ok_or_else(|| missing(node))? |= 1 << (end % 64);
            }
            *numbers.entry(Rc::from(union)).or_insert_with_key(|union| {
                sets.push(Rc::clone(union));
                (sets.len() - 1) as u32
            })
        };
        *of.get_mut(node as usize).ok_or_else(|| missing(node))? = number;
    }
    Ok(of)
}

fn in_order(partitions: Vec<Partition>) -> Result<Vec<Partition>> {
    let waits = |index: u32| partitions.get(index as usize).map_or(&[][..], |partition| &partition.waits);
    let mut waiting = Waiting::new(partitions.len(), waits);
    let mut order = waiting.ready();
    let mut at = 0;
    while let Some(index) = order.get(at).copied() {
        at += 1;
        waiting.done(index, |next| order.push(next));
    }
    if order.len() != partitions.len() {
        return Err(Error::bug("the partitions of a graph form a cycle"));
    }
    let mut places = vec![0_u32; partitions.len()];
    for (place, index) in (0..).zip(&order) {
        *places.get_mut(*index as usize).ok_or_else(|| missing(*index))? = place;
    }
    let mut sorted: Vec<(u32, Partition)> = places.iter().copied().zip(partitions).collect();
    sorted.sort_unstable_by_key(|(place, _)| *place);
    let renumber = |mut partition: Partition| {
        for wait in &mut partition.waits {
            *wait = *places.get(*wait as usize).ok_or_else(|| missing(*wait))?;
        }
        partition.waits.sort_unstable();
        Ok(partition)
    };
    sorted.into_iter().map(|(_, partition)| renumber(partition)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Command;
    use crate::command::CommandKind;

    fn flat(nodes: &[(bool, Vec<u32>)]) -> Flat {
        let kind = |host: bool| match host {
            true => Command::host_task(|| ()).into_parts().0,
            false => CommandKind::Empty,
        };
        Flat::of(nodes.iter().map(|(host, waits)| (kind(*host), waits.clone())).collect())
    }

    fn nodes(partitions: &[Partition]) -> Vec<(bool, Vec<u32>, Vec<u32>)> {
        partitions.iter().map(|p| (p.host, p.nodes.clone(), p.waits.clone())).collect()
    }

    #[test]
    fn a_chain_is_cut_at_its_host_task() {
        let chain: Vec<_> =
            (0..8_u32).map(|i| (i == 3, i.checked_sub(1).into_iter().collect::<Vec<_>>())).collect();
        assert_eq!(
            nodes(&partition(&flat(&chain), &[]).unwrap()),
            [(false, vec![0, 1, 2], vec![]), (true, vec![3], vec![0]), (false, vec![4, 5, 6, 7], vec![1]),]
        );
    }

    #[test]
    fn without_host_tasks_there_is_one_partition() {
        let graph = [(false, vec![]), (false, vec![]), (false, vec![0, 1])];
        assert_eq!(nodes(&partition(&flat(&graph), &[]).unwrap()), [(false, vec![0, 1, 2], vec![])]);
        assert!(partition(&flat(&[]), &[]).unwrap().is_empty());
    }

    #[test]
    fn a_partition_ends_with_a_node_whose_end_is_asked_for() {
        // 0 → 1 → 3 and 0 → 2 → 3, with 4 beside all of them.
        let graph =
            [(false, vec![]), (false, vec![0]), (false, vec![0]), (false, vec![1, 2]), (false, vec![])];
        let cut = |ends: &[u32]| nodes(&partition(&flat(&graph), ends).unwrap());
        let parts = |all: &[(&[u32], &[u32])]| -> Vec<_> {
            all.iter().map(|(nodes, waits)| (false, nodes.to_vec(), waits.to_vec())).collect()
        };
        assert_eq!(cut(&[1]), parts(&[(&[0, 1], &[]), (&[2, 3, 4], &[0])]));
        assert_eq!(cut(&[3]), parts(&[(&[0, 1, 2, 3], &[]), (&[4], &[])]));
        assert_eq!(cut(&[1, 2]), parts(&[(&[0], &[]), (&[1], &[0]), (&[2], &[0]), (&[3, 4], &[1, 2])]));
    }

    proptest! {
        /// Each node is in one partition, in order; and an order that partitions add between a host
        /// task and another node was there before.
        #[test]
        fn partitions_order_nothing_that_was_not_ordered(
            graph in prop::collection::vec(
                (prop::bool::weighted(0.25), prop::collection::vec(any::<prop::sample::Index>(), 0..4)), 1..30),
            ends in prop::collection::vec(any::<prop::sample::Index>(), 0..4)
        ) {
            let graph: Vec<(bool, Vec<u32>)> = graph.into_iter().enumerate().map(|(node, (host, waits))| {
                let mut waits: Vec<u32> = waits.into_iter().filter(|_| node > 0).map(|w| w.index(node) as u32).collect();
                waits.sort_unstable();
                waits.dedup();
                (host, waits)
            }).collect();
            let reach = |edges: &[Vec<u32>]| {
                let mut reach: Vec<Vec<bool>> = Vec::new();
                for waits in edges {
                    let mut all = vec![false; edges.len()];
                    for wait in waits {
                        all[*wait as usize] = true;
                        reach[*wait as usize].iter().zip(&mut all).for_each(|(r, a)| *a |= *r);
                    }
                    reach.push(all);
                }
                reach
            };
            let before = reach(&graph.iter().map(|(_, waits)| waits.clone()).collect::<Vec<_>>());
            let mut ends: Vec<u32> = ends.into_iter().map(|end| end.index(graph.len()) as u32).collect();
            ends.sort_unstable();
            ends.dedup();
            let partitions = partition(&flat(&graph), &ends).unwrap();
            let part_before = reach(&partitions.iter().map(|p| p.waits.clone()).collect::<Vec<_>>());
            let mut of = vec![usize::MAX; graph.len()];
            for (index, partition) in partitions.iter().enumerate() {
                prop_assert!(partition.nodes.windows(2).all(|pair| pair[0] < pair[1]));
                prop_assert!(partition.waits.iter().all(|wait| (*wait as usize) < index));
                for node in &partition.nodes {
                    prop_assert_eq!(of[*node as usize], usize::MAX);
                    of[*node as usize] = index;
                }
            }
            for end in ends.iter().map(|end| *end as usize) {
                for node in &partitions[of[end]].nodes {
                    prop_assert!(*node as usize == end || before[end][*node as usize], "{} ends late", end);
                }
            }
            for (a, (host_a, _)) in graph.iter().enumerate() {
                for (b, (host_b, _)) in graph.iter().enumerate() {
                    let ordered = of[a] == of[b] || part_before[of[b]][of[a]];
                    if before[b][a] {
                        prop_assert!(ordered, "{} before {}", a, b);
                    } else if a != b && (*host_a || *host_b) {
                        prop_assert!(!ordered, "{} needlessly before {}", a, b);
                    }
                }
            }
        }
    }
}
