//! What kernels cost, from the times of steps.
//!
//! Estimates are static, and may be wrong by a lot: nobody knows how often a loop runs. A list tells what its tasks cost together, a launch
//! what its kernel does. The best of a few rounds, less what an empty launch takes, corrects the estimates of the kernels
//! ([`ReplayProgram::correct`]) for all graphs that are finalized afterwards.

use std::collections::HashMap;
use std::sync::Arc;

use super::prepare::{Place, Steps};
use crate::driver::event::Event;
use crate::driver::sequence::Sequence;
use crate::driver::step::Step;
use crate::program::{ReplayProgram, Source};

/// Steps that are looked at.
const MOST_STEPS: usize = 4096;
/// Corrections by less do not change much.
const WRONG: f64 = 1.25;
/// Nanoseconds that times are good for.
const RESOLUTION: f64 = 500.0;

/// What is to be learned from a sequence.
pub(in crate::graph) struct Costs {
    programs: Vec<Arc<ReplayProgram>>,
    steps: Vec<StepWork>,
    /// By step: the best time so far.
    best: Vec<f64>,
}

/// What a step of a plan runs.
#[derive(Debug, Clone, Default)]
pub(in crate::graph) struct Work {
    /// One of its nodes, in the flat graph.
    pub(in crate::graph) node: u32,
    /// How many cores share it.
    pub(in crate::graph) cores: f64,
    pub(in crate::graph) is_list: bool,
    /// What is known of it, in nanoseconds on one core.
    pub(in crate::graph) known_ns: f64,
    /// What is estimated, by program and kernel, and the work-items of the largest node.
    pub(in crate::graph) estimates: HashMap<(u32, u32), (f64, f64)>,
}

struct StepWork {
    /// Its number among those that are measured.
    number: usize,
    work: Work,
}

/// The work of one step as seen: so much in all, and the estimates that it is made of.
struct Equation {
    seen_ns: f64,
    parts: Vec<(usize, f64)>,
}

impl Work {
    /// Adds a node that costs so much by estimate, of which `task_ns` has nothing to do with its kernel; a kernel, if it is to be
    /// learned.
    pub(in crate::graph) fn add(
        &mut self,
        kernel: Option<(u32, u32)>,
        items: f64,
        cost_ns: f64,
        task_ns: f64,
    ) {
        match kernel {
            Some(kernel) => {
                self.known_ns += task_ns;
                let (estimate, most) = self.estimates.entry(kernel).or_default();
                *estimate += cost_ns - task_ns;
                *most = most.max(items);
            }
            None => self.known_ns += cost_ns,
        }
    }
}

impl Costs {
    /// To learn what the kernels of these works cost; `None` if there is nothing to learn.
    pub(in crate::graph) fn new(
        programs: Vec<Arc<ReplayProgram>>,
        works: Vec<Work>,
        sequence: &Sequence,
        places: &[Option<Place>],
    ) -> Option<Self> {
        let is_join = |step: usize| sequence.step(step).is_none_or(Step::is_join);
        let mut numbers = Vec::with_capacity(sequence.len());
        let mut next = 0;
        for step in 0..sequence.len() {
            numbers.push(next);
            next += usize::from(!is_join(step));
        }
        let step = |work: Work| {
            let place = places.get(work.node as usize)?.as_ref()?;
            let (Steps::One(step) | Steps::Task { step, .. }) = place.step else { return None };
            Some(StepWork { number: *numbers.get(step as usize)?, work })
        };
        let steps: Vec<StepWork> = works
            .into_iter()
            .filter(|work| !work.estimates.is_empty())
            .take(MOST_STEPS)
            .filter_map(step)
            .collect();
        let best = vec![f64::INFINITY; steps.len()];
        (!steps.is_empty()).then_some(Self { programs, steps, best })
    }

    /// Looks at the times of a round.
    pub(in crate::graph) fn note(&mut self, event: &Event) {
        let Some(measured) = event.measured() else { return };
        for (step, best) in self.steps.iter().zip(&mut self.best) {
            let times = measured.events.get(step.number).map(Event::profiling);
            if let Some(Ok(times)) = times {
                *best = best.min(times.ended_ns.saturating_sub(times.started_ns) as f64);
            }
        }
    }

    /// Corrects the estimates; whether they were so wrong that the nodes are better planned anew.
    pub(in crate::graph) fn learn(self) -> bool {
        let mut is_wrong = false;
        for source in [Source::List, Source::Launch] {
            let mut kernels: Vec<((u32, u32), f64)> = Vec::new();
            let mut equations = Vec::new();
            for (StepWork { work, .. }, best) in self.steps.iter().zip(&self.best) {
                let of_source = work.is_list == (source == Source::List);
                let Some(program) = self.programs.first().filter(|_| of_source && best.is_finite()) else {
                    continue;
                };
                let mut parts = Vec::new();
                for (kernel, (estimate, items)) in &work.estimates {
                    let at = kernels.iter().position(|known| known.0 == *kernel).unwrap_or_else(|| {
                        kernels.push((*kernel, 0.0));
                        kernels.len() - 1
                    });
                    if let Some((_, most)) = kernels.get_mut(at) {
                        *most = most.max(*items);
                    }
                    parts.push((at, *estimate));
                }
                let seen_ns = (best - program.rates().launched_ns()).max(0.0) * work.cores - work.known_ns;
                equations.push(Equation { seen_ns: seen_ns.max(0.0), parts });
            }
            // Launches are looked at to decide where nodes run.
            is_wrong |= source == Source::Launch && !kernels.is_empty();
            let factors = factors(&equations, kernels.len());
            for (((program, kernel), items), factor) in kernels.iter().zip(factors) {
                log::debug!("kernel {kernel} of a replay program takes {factor:.3} of what was estimated");
                is_wrong |= !(1.0 / WRONG..WRONG).contains(&factor);
                if let Some(program) = self.programs.get(*program as usize) {
                    // Where the nodes are was only to find out.
                    is_wrong |= !program.is_known(*kernel, source, *items);
                    program.correct(*kernel, factor, source, *items);
                }
            }
        }
        self.programs.iter().for_each(|program| program.keep_corrections());
        is_wrong
    }
}

/// What estimates must be multiplied with so that all works take what was seen, as far as they can.
///
/// Each work that took longer than estimated makes its parts larger, the more the larger they are in it, and others smaller.
fn factors(equations: &[Equation], count: usize) -> Vec<f64> {
    const ITERATIONS: usize = 60;
    let mut factors = vec![1.0_f64; count];
    for _ in 0..ITERATIONS {
        let mut changes = vec![(0.0, 0.0); count];
        for Equation { seen_ns, parts } in equations {
            let now = |(kernel, estimate): &(usize, f64)| estimate * factors.get(*kernel).unwrap_or(&1.0);
            let sum: f64 = parts.iter().map(now).sum();
            // Of what takes less than can be measured is only known that it does.
            let seen = if *seen_ns > RESOLUTION { *seen_ns } else { sum.min(RESOLUTION) };
            if sum <= 0.0 {
                continue;
            }
            for part in parts {
                if let Some((change, weight)) = changes.get_mut(part.0) {
                    let share = now(part) / sum * seen;
                    *change += share * (seen / sum).ln();
                    *weight += share;
                }
            }
        }
        for (factor, (change, weight)) in factors.iter_mut().zip(changes) {
            if weight > 0.0 {
                *factor *= (change / weight).exp();
            }
        }
    }
    factors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(equations: &[(f64, &[(usize, f64)])], count: usize) -> Vec<f64> {
        let equations: Vec<Equation> = equations
            .iter()
            .map(|(seen_ns, parts)| Equation { seen_ns: *seen_ns, parts: parts.to_vec() })
            .collect();
        factors(&equations, count)
    }

    #[test]
    fn one_kernel_is_as_wrong_as_its_time() {
        let found = of(&[(3000.0, &[(0, 1000.0)]), (6000.0, &[(0, 2000.0)])], 1);
        assert!((found[0] - 3.0).abs() < 1e-6, "{found:?}");
    }

    #[test]
    fn kernels_that_run_together_are_told_apart_by_other_works() {
        let found = of(&[(11_000.0, &[(0, 1000.0), (1, 1000.0)]), (10_000.0, &[(0, 1000.0)])], 2);
        assert!((found[0] - 10.0).abs() < 0.5 && (found[1] - 1.0).abs() < 0.5, "{found:?}");
    }

    #[test]
    fn what_is_too_short_to_be_measured_is_short() {
        assert_eq!(of(&[(0.0, &[(0, 100.0)])], 1), [1.0]);
        let found = of(&[(100.0, &[(0, 50_000.0)])], 1);
        assert!((found[0] - RESOLUTION / 50_000.0).abs() < 1e-6, "{found:?}");
    }
}
