//! Rivals of the steps that there are: all run in turns, and the fastest stays.

use super::prepare::{Place, PreparedPart, Source, prepare};
use crate::Result;
use crate::driver::sequence::Sequence;
use crate::graph::plan::interpreter::Way;

/// Replays of each.
const TURNS: u32 = 3;
/// Rivals that are faster by less do not win: times are not better than that.
const FASTER: f64 = 0.97;

/// Other steps for the nodes of a partition, as these are now.
pub(crate) struct Rival {
    pub(crate) steps: PreparedPart,
    /// Where the nodes are in them.
    pub(crate) places: Vec<Option<Place>>,
}

impl Rival {
    /// # Errors
    /// What a queue would refuse a command for, with the node.
    pub(in crate::graph) fn new(source: Source<'_>, way: Way) -> Result<Self> {
        let mut places = vec![None; source.flat.len()];
        let steps = prepare(source, &mut places, way)?;
        Ok(Self { steps, places })
    }
}

/// The steps that there are, and their rivals.
pub(in crate::graph) struct Contest {
    pub(in crate::graph) rivals: Vec<Rival>,
    /// The best times so far in nanoseconds, of the steps that there are and of each rival.
    best: Vec<f64>,
}

impl Contest {
    /// `None` without a rival.
    pub(in crate::graph) fn new(rivals: Vec<Rival>) -> Option<Self> {
        let best = vec![f64::INFINITY; rivals.len() + 1];
        (!rivals.is_empty()).then_some(Self { rivals, best })
    }

    pub(in crate::graph) fn rounds(&self) -> u32 {
        TURNS * self.best.len() as u32
    }

    /// Whose turn it is: 0 for the steps that there are.
    fn turn(&self, round: u32) -> usize {
        round as usize % self.best.len()
    }

    /// The rival whose turn it is; none where it is that of the steps that there are.
    pub(in crate::graph) fn sequence(&self, round: u32) -> Option<&Sequence> {
        let rival = self.rivals.get(self.turn(round).checked_sub(1)?)?;
        Some(&rival.steps.sequence)
    }

    pub(in crate::graph) fn note(&mut self, round: u32, time_ns: f64) {
        let turn = self.turn(round);
        if let Some(best) = self.best.get_mut(turn) {
            *best = best.min(time_ns);
        }
    }

    /// The rival that is faster than all others, if one is.
    pub(in crate::graph) fn winner(mut self) -> Option<Rival> {
        log::debug!("steps and their rivals took {:?} ns", self.best);
        winner(&self.best).map(|rival| self.rivals.swap_remove(rival))
    }
}

/// The number of the rival that is the fastest, by the times of the steps that there are and of each rival.
fn winner(times: &[f64]) -> Option<usize> {
    let (now, rivals) = times.split_first()?;
    let (fastest, time) = rivals.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1))?;
    // What was never measured is no slower.
    (now.is_finite() && *time < FASTER * now).then_some(fastest)
}

#[cfg(test)]
mod tests {
    use crate::graph::exec::contest::winner;

    #[test]
    fn the_fastest_rival_wins_if_it_is_faster_than_what_there_is() {
        assert_eq!(winner(&[100.0, 90.0, 80.0]), Some(1));
        assert_eq!(winner(&[100.0, 90.0, 95.0]), Some(0));
        assert_eq!(winner(&[100.0, 99.0]), None);
        assert_eq!(winner(&[100.0, f64::INFINITY, 50.0]), Some(1));
    }

    #[test]
    fn without_times_nobody_wins() {
        assert_eq!(winner(&[f64::INFINITY, 90.0]), None);
        assert_eq!(winner(&[100.0, f64::INFINITY]), None);
        assert_eq!(winner(&[100.0]), None);
        assert_eq!(winner(&[]), None);
    }
}
