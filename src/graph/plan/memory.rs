//! Where the memory of a graph lies: memory that is not used at the same time shares its bytes.
//!
//! One lives from its first use to its last. Which of two ends before the other begins follows from edges alone, so that
//! the places are right for every order that the edges allow. The largest is placed first, each as low as it fits beside
//! those that live at the same time.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::MakeError as _;
use crate::command::CommandKind;
use crate::memory::{DEFAULT_ALIGNMENT, Region, Reserved};
use crate::{Error, Result};

/// So many are planned together. More take time that grows with their square.
const TOGETHER: usize = 1024;

/// Memory that a graph asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::graph) struct Request {
    pub(in crate::graph) key: Reserved,
    pub(in crate::graph) size_bytes: usize,
    /// The nodes of the flat graph that use it, in rising order.
    pub(in crate::graph) nodes: Vec<u32>,
}

/// Where memory that was asked for lies.
#[derive(Debug, Clone, Default)]
pub(in crate::graph) struct MemoryPlan {
    /// In the order of their first uses.
    pub(in crate::graph) requests: Vec<Request>,
    pub(in crate::graph) offsets: Vec<usize>,
    /// By number of the request: those that live at the same time.
    pub(in crate::graph) beside: Vec<Vec<u32>>,
    /// Of all together.
    pub(in crate::graph) size_bytes: usize,
}

impl MemoryPlan {
    /// Places memory. `waits` are the nodes that each of so many nodes waits for, which come before it.
    pub(in crate::graph) fn new<'a>(
        nodes: usize,
        waits: impl Fn(u32) -> &'a [u32],
        mut requests: Vec<Request>,
    ) -> Self {
        requests.sort_by_key(|request| (request.nodes.first().copied(), request.key));
        let beside = beside(nodes, &waits, &requests);
        let (mut offsets, mut size_bytes) = (vec![0; requests.len()], 0);
        for first in (0..requests.len()).step_by(TOGETHER) {
            let end = requests.len().min(first + TOGETHER);
            size_bytes = place(&requests, first..end, &beside, size_bytes, &mut offsets);
        }
        Self { requests, offsets, beside, size_bytes }
    }

    /// Where memory lies, from the start of all.
    pub(in crate::graph) fn place(&self, key: Reserved) -> Option<usize> {
        let at = self.requests.iter().position(|request| request.key == key)?;
        self.offsets.get(at).copied()
    }

    /// The bytes of a request, from the start of all.
    fn bytes(&self, request: usize) -> std::ops::Range<usize> {
        let start = self.offsets.get(request).copied().unwrap_or(0);
        start..start + self.requests.get(request).map_or(0, |request| request.size_bytes)
    }

    /// Whether two share bytes.
    pub(in crate::graph) fn shares(&self, a: usize, b: usize) -> bool {
        let (a, b) = (self.bytes(a), self.bytes(b));
        a.start < b.end && b.start < a.end
    }

    /// The same places with more uses, by node; `None`: some that live at the same time would share bytes.
    pub(in crate::graph) fn with_uses<'a>(
        &self,
        nodes: usize,
        waits: impl Fn(u32) -> &'a [u32],
        uses: &[(Reserved, u32)],
    ) -> Option<Self> {
        let mut requests = self.requests.clone();
        for (key, node) in uses {
            let request = requests.iter_mut().find(|request| request.key == *key)?;
            request.nodes.push(*node);
            request.nodes.sort_unstable();
            request.nodes.dedup();
        }
        requests.sort_by_key(|request| (request.nodes.first().copied(), request.key));
        let offsets = requests.iter().map(|request| self.place(request.key)).collect::<Option<_>>()?;
        let beside = beside(nodes, &waits, &requests);
        let new = Self { requests, offsets, beside, size_bytes: self.size_bytes };
        let all = new.beside.iter().enumerate();
        let mut pairs = all.flat_map(|(a, others)| others.iter().map(move |b| (a, *b as usize)));
        (!pairs.any(|(a, b)| new.shares(a, b))).then_some(new)
    }
}

/// A set of small numbers.
#[derive(Clone)]
struct Bits(Box<[u64]>);

impl Bits {
    fn new(count: usize) -> Self {
        Self(vec![0; count.div_ceil(64)].into())
    }

    fn insert(&mut self, bit: usize) {
        if let Some(word) = self.0.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    fn has(&self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 != 0)
    }

    fn add_all(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own |= other);
    }

    fn keep(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(own, other)| *own &= other);
    }

    /// Those below `end` that are not in it.
    fn missing_below(&self, end: usize) -> impl Iterator<Item = usize> {
        let words = self.0.iter().enumerate().take(end.div_ceil(64)).filter(|(_, word)| **word != u64::MAX);
        let bits = words.flat_map(|(at, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 0).map(move |bit| at * 64 + bit)
        });
        bits.take_while(move |bit| *bit < end)
    }
}

/// The lifetime of a request, as far as nodes were visited.
#[derive(Default)]
struct Life {
    /// The columns of uses that no other use comes after.
    last: Vec<usize>,
    /// The column of the first use.
    first: usize,
    /// The columns of nodes that come before all uses.
    before: Option<Bits>,
}

/// For each request, those that live at the same time: neither ends before the other begins.
fn beside<'a>(nodes: usize, waits: &impl Fn(u32) -> &'a [u32], requests: &[Request]) -> Vec<Vec<u32>> {
    let mut beside = vec![Vec::new(); requests.len()];
    let mut waited_for = vec![0_u32; nodes];
    for wait in (0..nodes as u32).flat_map(waits) {
        waited_for.get_mut(*wait as usize).into_iter().for_each(|count| *count += 1);
    }
    for first in (0..requests.len()).step_by(TOGETHER) {
        let together = requests.get(first..requests.len().min(first + TOGETHER)).unwrap_or_default();
        let lives = lives(nodes, waits, together, waited_for.clone());
        // By column, the requests that may end there.
        let mut ends: HashMap<usize, Vec<usize>> = HashMap::new();
        let mut open: Vec<usize> = Vec::new();
        for (own, life) in lives.iter().enumerate() {
            let last = |other: usize| lives.get(other).and_then(|life| life.last.iter().max().copied());
            open.retain(|other| last(*other) >= Some(life.first));
            let missing = life.before.iter().flat_map(|before| before.missing_below(life.first));
            let earlier = missing.filter_map(|column| ends.get(&column)).flatten().copied();
            let mut found: Vec<usize> = open.iter().copied().chain(earlier).collect();
            found.sort_unstable();
            found.dedup();
            for other in found {
                for (of, number) in [(own, other), (other, own)] {
                    let list = beside.get_mut(first + of);
                    list.into_iter().for_each(|list| list.push((first + number) as u32));
                }
            }
            open.push(own);
            life.last.iter().for_each(|column| ends.entry(*column).or_default().push(own));
        }
    }
    beside
}

/// The lives of requests, which are sorted by their first uses.
fn lives<'a>(
    nodes: usize,
    waits: &impl Fn(u32) -> &'a [u32],
    requests: &[Request],
    mut waited_for: Vec<u32>,
) -> Vec<Life> {
    // Nodes that use memory have a column.
    let mut uses: Vec<(u32, usize)> = Vec::new();
    for (request, Request { nodes, .. }) in requests.iter().enumerate() {
        uses.extend(nodes.iter().map(|node| (*node, request)));
    }
    uses.sort_unstable();
    let columns = uses.chunk_by(|a, b| a.0 == b.0).count();
    let mut lives: Vec<Life> = requests.iter().map(|_| Life::default()).collect();
    // By node: the columns that come before all nodes that wait for it, itself included.
    let mut behind: Vec<Option<Rc<Bits>>> = vec![None; nodes];
    let mut uses = uses.chunk_by(|a, b| a.0 == b.0).enumerate().peekable();
    for node in 0..nodes as u32 {
        let mut before: Option<Rc<Bits>> = None;
        for wait in waits(node) {
            let Some(of_wait) = behind.get_mut(*wait as usize) else { continue };
            let left = waited_for.get_mut(*wait as usize);
            let is_last = left.is_some_and(|left| {
                *left -= 1;
                *left == 0
            });
            let of_wait = if is_last { of_wait.take() } else { of_wait.clone() };
            match (&mut before, of_wait) {
                (Some(before), Some(of_wait)) => Rc::make_mut(before).add_all(&of_wait),
                (None, of_wait) => before = of_wait,
                (Some(_), None) => {}
            }
        }
        if let Some((column, uses)) =
            uses.next_if(|(_, uses)| uses.first().is_some_and(|use_| use_.0 == node))
        {
            let mut own = before.unwrap_or_else(|| Rc::new(Bits::new(columns)));
            for (_, request) in uses {
                let Some(life) = lives.get_mut(*request) else { continue };
                match &mut life.before {
                    Some(before) => before.keep(&own),
                    None => {
                        life.first = column;
                        life.before = Some(Bits::clone(&own));
                    }
                }
                life.last.retain(|last| !own.has(*last));
                life.last.push(column);
            }
            Rc::make_mut(&mut own).insert(column);
            before = Some(own);
        }
        let is_needed = waited_for.get(node as usize).is_some_and(|count| *count > 0);
        if let Some(place) = behind.get_mut(node as usize).filter(|_| is_needed) {
            *place = before;
        }
    }
    lives
}

/// Places some of the requests from an offset on, and gives the end of all.
fn place(
    requests: &[Request],
    which: std::ops::Range<usize>,
    beside: &[Vec<u32>],
    start: usize,
    offsets: &mut [usize],
) -> usize {
    let size = |request: usize| requests.get(request).map_or(0, |request| request.size_bytes);
    let mut order: Vec<usize> = which.clone().collect();
    order.sort_by_key(|request| std::cmp::Reverse(size(*request)));
    let mut is_placed = vec![false; which.len()];
    let mut end = start;
    let mut taken: Vec<(usize, usize)> = Vec::new();
    for request in order {
        let others = beside.get(request).into_iter().flatten().map(|other| *other as usize);
        let placed = others.filter(|other| is_placed.get(*other - which.start).is_some_and(|placed| *placed));
        taken.clear();
        taken.extend(placed.map(|other| {
            let offset = offsets.get(other).copied().unwrap_or(0);
            (offset, offset + size(other))
        }));
        taken.sort_unstable();
        let mut offset = start;
        for (from, to) in &taken {
            if offset + size(request) <= *from {
                break;
            }
            offset = offset.max(to.next_multiple_of(DEFAULT_ALIGNMENT));
        }
        offsets.get_mut(request).into_iter().for_each(|place| *place = offset);
        is_placed.get_mut(request - which.start).into_iter().for_each(|placed| *placed = true);
        end = end.max((offset + size(request)).next_multiple_of(DEFAULT_ALIGNMENT));
    }
    end
}

/// The memory of graphs that commands of an executable use, by what stands for it.
#[derive(Debug, Clone, Default)]
pub(in crate::graph) struct Memory(HashMap<Reserved, Place>);

/// Memory of a graph.
#[derive(Debug, Clone)]
pub(in crate::graph) struct Place {
    /// The region that stands for it in commands of the graph.
    pub(in crate::graph) reserved: Region,
    pub(in crate::graph) there: Region,
}

impl Memory {
    pub(in crate::graph) fn has(&self, key: Reserved) -> bool {
        self.0.contains_key(&key)
    }

    pub(in crate::graph) fn insert(&mut self, key: Reserved, place: Place) {
        self.0.insert(key, place);
    }

    /// That of some.
    pub(in crate::graph) fn only(&self, keys: impl IntoIterator<Item = Reserved>) -> Self {
        Self(keys.into_iter().filter_map(|key| Some((key, self.0.get(&key)?.clone()))).collect())
    }

    /// A command of another graph of the same shape, with the memory of this one in the place of its own. `owners` has
    /// the number of the graph here for each graph there.
    ///
    /// # Errors
    /// As [`Self::locate`], and for memory of another size.
    pub(in crate::graph) fn translate(
        &self,
        command: &Arc<CommandKind>,
        owners: &HashMap<u64, u64>,
    ) -> Result<Arc<CommandKind>> {
        if command.graph_memory().next().is_none() {
            return Ok(Arc::clone(command));
        }
        let translated = command.with_memory(|key, region| {
            let owner = owners.get(&key.owner).copied().unwrap_or(key.owner);
            let place = self.0.get(&Reserved { owner, ..key }).ok_or_else(|| not_here(key))?;
            if place.reserved.size_bytes() != region.allocation().size_bytes() {
                return Err(Error::invalid(format!(
                    "memory {} of graph {} has {} bytes, and {} in the executable",
                    key.number,
                    key.owner,
                    region.allocation().size_bytes(),
                    place.reserved.size_bytes()
                ))
                .remedy(
                    "allocate the same memory in the same order in both graphs, or finalize the graph again",
                ));
            }
            place.reserved.part(region.offset_bytes(), region.size_bytes())
        });
        translated.map(Arc::new)
    }

    /// A command with the memory that its own memory of graphs stands for; `None`: it uses none.
    ///
    /// # Errors
    /// [`Invalid`](crate::ErrorKind::Invalid) for memory that is not here.
    pub(in crate::graph) fn locate(&self, command: &CommandKind) -> Result<Option<Arc<CommandKind>>> {
        // Without memory here, commands that use some were refused, or are when they run.
        if self.0.is_empty() || command.graph_memory().next().is_none() {
            return Ok(None);
        }
        if let CommandKind::Native(_) = command {
            return Err(Error::invalid(
                "raw commands were given memory of a graph, which has no address of its own",
            )
            .remedy("give them memory of `alloc_device`"));
        }
        let located = command.with_memory(|key, region| match self.0.get(&key) {
            Some(Place { there, .. }) => there.part(region.offset_bytes(), region.size_bytes()),
            None => Err(not_here(key)),
        });
        located.map(|command| Some(Arc::new(command)))
    }
}

/// Memory of a graph is used where it is not.
pub(in crate::graph) fn not_here(key: Reserved) -> Error {
    let Reserved { owner, number } = key;
    Error::invalid(format!("memory {number} of graph {owner} is used outside of that graph")).remedy(
        "use it in nodes of the graph and of bodies of its loops and conditions, and copy results to other memory in a node",
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn request(number: u32, size_bytes: usize, nodes: &[u32]) -> Request {
        Request { key: Reserved { owner: 0, number }, size_bytes, nodes: nodes.to_vec() }
    }

    fn plan(waits: &[Vec<u32>], requests: Vec<Request>) -> MemoryPlan {
        MemoryPlan::new(waits.len(), |node| &waits[node as usize], requests)
    }

    fn chain(nodes: u32) -> Vec<Vec<u32>> {
        (0..nodes).map(|node| node.checked_sub(1).into_iter().collect()).collect()
    }

    #[test]
    fn a_chain_of_temporaries_takes_two() {
        let requests = (0..1000).map(|number| request(number, 1 << 20, &[number, number + 1])).collect();
        assert_eq!(plan(&chain(1001), requests).size_bytes, 2 << 20);
        // Beyond what is planned together, each group takes two.
        let requests = (0..3000).map(|number| request(number, 1 << 10, &[number, number + 1])).collect();
        assert_eq!(plan(&chain(3001), requests).size_bytes, 6 << 10);
    }

    #[test]
    fn branches_live_side_by_side() {
        // 0 → {1, 2} → 3: memory of the branches, and of the end.
        let waits = vec![vec![], vec![0], vec![0], vec![1, 2], vec![3]];
        let found = plan(&waits, vec![request(0, 128, &[1]), request(1, 128, &[2]), request(2, 256, &[4])]);
        assert_eq!((found.size_bytes, &found.beside), (256, &vec![vec![1], vec![0], vec![]]));
        assert!(found.shares(0, 2) && found.shares(1, 2) && !found.shares(0, 1));
    }

    #[test]
    fn other_uses_keep_their_places_if_they_can() {
        let waits = chain(6);
        let found =
            plan(&waits, vec![request(0, 128, &[0, 1]), request(1, 128, &[3, 4]), request(2, 128, &[5])]);
        let with = |number, node| {
            let key = Reserved { owner: 0, number };
            found.with_uses(6, |node| &waits[node as usize], &[(key, node)])
        };
        assert_eq!(found.size_bytes, 128);
        assert!(with(1, 2).is_some_and(|new| new.requests[1].nodes == [2, 3, 4]));
        assert!(with(1, 1).is_none());
        assert!(with(7, 0).is_none(), "it has no place");
    }

    proptest! {
        /// Against a plain search: those that may live at the same time do not share bytes, and `beside` is exact.
        #[test]
        fn what_lives_at_the_same_time_is_apart(
            edges in prop::collection::vec(prop::collection::vec(any::<prop::sample::Index>(), 0..3), 1..40),
            memory in prop::collection::vec((1_usize..600, prop::collection::vec(any::<prop::sample::Index>(), 1..4)), 0..30),
        ) {
            let waits: Vec<Vec<u32>> = edges.iter().enumerate().map(|(node, edges)| {
                let mut waits: Vec<u32> =
                    edges.iter().filter(|_| node > 0).map(|edge| edge.index(node) as u32).collect();
                waits.sort_unstable();
                waits.dedup();
                waits
            }).collect();
            let count = waits.len();
            let mut is_before = vec![vec![false; count]; count];
            for node in 0..count {
                for wait in &waits[node] {
                    let wait = *wait as usize;
                    (0..count).for_each(|other| is_before[other][node] |= other == wait || is_before[other][wait]);
                }
            }
            let requests: Vec<Request> = memory.iter().enumerate().map(|(number, (size, uses))| {
                let mut nodes: Vec<u32> = uses.iter().map(|node| node.index(count) as u32).collect();
                nodes.sort_unstable();
                nodes.dedup();
                request(number as u32, *size, &nodes)
            }).collect();
            let found = plan(&waits, requests);
            let ends_before = |a: &Request, b: &Request| {
                a.nodes.iter().all(|a| b.nodes.iter().all(|b| is_before[*a as usize][*b as usize]))
            };
            for (a, of_a) in found.requests.iter().enumerate() {
                for (b, of_b) in found.requests.iter().enumerate().filter(|(b, _)| *b != a) {
                    let apart = !ends_before(of_a, of_b) && !ends_before(of_b, of_a);
                    prop_assert_eq!(found.beside[a].contains(&(b as u32)), apart);
                    prop_assert!(!apart || !found.shares(a, b));
                }
                prop_assert!(found.offsets[a].is_multiple_of(DEFAULT_ALIGNMENT));
                prop_assert!(found.offsets[a] + of_a.size_bytes <= found.size_bytes);
            }
        }
    }
}
