//! Names of commands, and labels around them.
//!
//! A label belongs to a graph or to a queue, and to the thread that runs its closure. Other threads
//! may add commands meanwhile, which are not part of it.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

/// The labels around a command and its own name: `solve/residual`.
pub(crate) type Name = Arc<str>;

/// Whose commands have a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Labelled {
    /// A graph, by its number.
    Graph(u64),
    /// A queue, by the number of its recording.
    Queue(u64),
}

thread_local! {
    /// The labels whose closures this thread runs, the innermost last.
    static LABELS: RefCell<Vec<(Labelled, Name)>> = const { RefCell::new(Vec::new()) };
}

/// Ends the labels that were begun since.
struct Restore(usize);

impl Drop for Restore {
    fn drop(&mut self) {
        LABELS.with_borrow_mut(|labels| labels.truncate(self.0));
    }
}

/// Runs a closure, during which the commands of this thread have a label.
pub(crate) fn labelled<R>(whose: Labelled, label: Name, run: impl FnOnce() -> R) -> R {
    let _restore = LABELS.with_borrow_mut(|labels| {
        let before = labels.len();
        labels.push((whose, label));
        Restore(before)
    });
    run()
}

/// The name of a command with the labels around it; `None` where there is neither.
pub(crate) fn full_name(own: Option<&Name>, has_label: impl Fn(Labelled) -> bool) -> Option<Name> {
    LABELS.with_borrow(|labels| {
        let labels = labels.iter().filter(|(whose, _)| has_label(*whose)).map(|(_, label)| label);
        let mut parts = labels.chain(own);
        let first = parts.next()?;
        Some(parts.fold(Arc::clone(first), |all, part| within(&all, part)))
    })
}

/// The name of what has one inside of something that has one.
pub(crate) fn within(outer: &Name, inner: &Name) -> Name {
    Arc::from(format!("{outer}/{inner}"))
}

/// A node in errors.
pub(crate) fn node_place(node: impl fmt::Display, name: Option<&Name>) -> String {
    match name {
        Some(name) => format!("node {node} (`{name}`)"),
        None => format!("node {node}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(own: Option<&str>) -> Option<String> {
        let has_label = |whose| matches!(whose, Labelled::Graph(1) | Labelled::Queue(1));
        full_name(own.map(Name::from).as_ref(), has_label).map(|name| name.to_string())
    }

    #[test]
    fn labels_nest_and_end_with_their_closures() {
        assert_eq!(name(None), None);
        assert_eq!(name(Some("x")).as_deref(), Some("x"));
        labelled(Labelled::Graph(1), "a".into(), || {
            assert_eq!(name(None).as_deref(), Some("a"));
            labelled(Labelled::Graph(2), "other".into(), || {
                labelled(Labelled::Queue(1), "b".into(), || {
                    assert_eq!(name(Some("x")).as_deref(), Some("a/b/x"));
                });
            });
            let panics =
                || labelled(Labelled::Graph(1), "c".into(), || std::panic::resume_unwind(Box::new(())));
            assert!(std::panic::catch_unwind(panics).is_err());
            assert_eq!(name(Some("y")).as_deref(), Some("a/y"));
            std::thread::spawn(|| assert_eq!(name(None), None)).join().unwrap();
        });
        assert_eq!(name(None), None);
    }
}
