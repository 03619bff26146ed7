//! The buffers that commands need which run as one: a replay of a graph.

use std::collections::HashMap;
use std::sync::Arc;

use super::area::Area;
use super::requirement::Requirement;

/// The requirements of commands that run as one; they are given in an order in which they may run.
/// Each part of a buffer comes once. Where the first of them replaces all of a buffer, nobody needs
/// its contents, and it stands for all.
pub(crate) fn joined<'a>(requirements: impl Iterator<Item = &'a Arc<Requirement>>) -> Vec<Arc<Requirement>> {
    let mut joined: Vec<Arc<Requirement>> = Vec::new();
    let mut places: HashMap<(u64, Area), usize> = HashMap::new();
    let mut replaced: HashMap<u64, bool> = HashMap::new();
    for requirement in requirements {
        let id = requirement.object().id();
        match replaced.get(&id) {
            Some(true) => continue,
            Some(false) => {}
            None => {
                replaced.insert(id, requirement.replaces_all());
            }
        }
        match places.get(&(id, *requirement.area())).and_then(|place| joined.get_mut(*place)) {
            Some(other) if other.writes() || !requirement.writes() => {}
            Some(other) => *other = Arc::new(Requirement::clone(other).written()),
            None => {
                places.insert((id, *requirement.area()), joined.len());
                joined.push(Arc::clone(requirement));
            }
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Buffer;
    use crate::memory::buffer::Accessor;

    fn of<A>(accessor: &Accessor<u32, A>) -> Arc<Requirement> {
        accessor.use_by_copy(false)
    }

    #[test]
    fn parts_come_once_and_as_they_are_used_most() {
        let (a, b) = (Buffer::<u32>::new(10).unwrap(), Buffer::<u32>::new(10).unwrap());
        let half = b.read().slice(..5).unwrap();
        let all = [
            of(&a.read()),
            of(&half),
            of(&a.read()),
            of(&a.read_write()),
            of(&b.write().no_init()),
            of(&half),
            of(&a.read()),
        ];
        let joined = joined(all.iter());
        let shown: Vec<_> = joined.iter().map(|r| (r.object().id(), r.area().len(), r.writes())).collect();
        let (a, b) = (all[0].object().id(), all[1].object().id());
        assert_eq!(shown, [(a, 10, true), (b, 5, false), (b, 10, true)]);
        assert!(joined.iter().take(2).all(|requirement| requirement.needs_contents()));
    }

    #[test]
    fn what_is_replaced_first_is_not_needed() {
        let a = Buffer::<u32>::new(10).unwrap();
        let all = [of(&a.write().no_init()), of(&a.read()), of(&a.read_write().slice(..2).unwrap())];
        let joined = joined(all.iter());
        assert_eq!(joined.len(), 1);
        assert!(joined[0].writes() && !joined[0].needs_contents());
    }
}
