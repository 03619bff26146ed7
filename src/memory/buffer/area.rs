//! Areas: the part of a buffer that an access names, in elements.
//!
//! Everything has three dimensions here. A buffer with fewer has the last ones. The elements of a
//! row, which is the last dimension, are contiguous in memory.

/// Three sizes or offsets, slowest dimension first.
pub(crate) type Triple = [usize; 3];

/// A box of elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Area {
    pub(crate) offset: Triple,
    pub(crate) extent: Triple,
}

/// The rest of an area without another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// Nothing: the other covers it.
    Nothing,
    /// One or two boxes.
    Pieces(Area, Option<Area>),
    /// Something that is no such box, or all of it.
    Other,
}

impl Area {
    /// All of a shape.
    pub(crate) const fn whole(shape: Triple) -> Self {
        Self { offset: [0; 3], extent: shape }
    }

    /// The box at `offset` within this one; `None` when it is not within.
    pub(crate) fn part(&self, offset: Triple, extent: Triple) -> Option<Self> {
        let part = Self { offset, extent };
        let is_within = part.ends().zip(self.extent).all(|(end, size)| end.is_some_and(|end| end <= size));
        is_within.then(|| {
            let mut part = part;
            part.offset.iter_mut().zip(self.offset).for_each(|(offset, own)| *offset += own);
            part
        })
    }

    fn ends(&self) -> impl Iterator<Item = Option<usize>> {
        self.offset.into_iter().zip(self.extent).map(|(offset, extent)| offset.checked_add(extent))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.extent.contains(&0)
    }

    /// How many elements.
    pub(crate) fn len(&self) -> usize {
        self.extent.iter().product()
    }

    /// Start and end in each dimension.
    fn sides(&self) -> impl Iterator<Item = (usize, usize)> {
        self.offset
            .into_iter()
            .zip(self.extent)
            .map(|(offset, extent)| (offset, offset.saturating_add(extent)))
    }

    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let apart = |((a, a_end), (b, b_end))| a >= b_end || b >= a_end;
        !self.is_empty() && !other.is_empty() && !self.sides().zip(other.sides()).any(apart)
    }

    pub(crate) fn contains(&self, other: &Self) -> bool {
        other.is_empty()
            || self.sides().zip(other.sides()).all(|((a, a_end), (b, b_end))| a <= b && b_end <= a_end)
    }

    /// The rest of it without `cut`. Exact where `cut` spans it in all dimensions but one, as
    /// always in one dimension.
    pub(crate) fn without(&self, cut: &Self) -> Rest {
        let mut partial = None;
        for (dimension, (own, cut)) in self.sides().zip(cut.sides()).enumerate() {
            if cut.0 <= own.0 && own.1 <= cut.1 {
                continue;
            }
            if cut.1 <= own.0 || own.1 <= cut.0 || partial.replace((dimension, own, cut)).is_some() {
                return Rest::Other;
            }
        }
        let Some((dimension, own, cut)) = partial else { return Rest::Nothing };
        let piece = |start: usize, end: usize| {
            let mut piece = *self;
            if let (Some(offset), Some(extent)) =
                (piece.offset.get_mut(dimension), piece.extent.get_mut(dimension))
            {
                (*offset, *extent) = (start, end - start);
            }
            piece
        };
        let before = (own.0 < cut.0).then(|| piece(own.0, cut.0));
        let after = (cut.1 < own.1).then(|| piece(cut.1, own.1));
        match (before, after) {
            (Some(before), after) => Rest::Pieces(before, after),
            (None, Some(after)) => Rest::Pieces(after, None),
            (None, None) => Rest::Nothing,
        }
    }

    /// The index of its first element, and that behind its last, in an array of `shape`. It is not
    /// empty and within the shape.
    pub(crate) fn linear(&self, shape: Triple) -> (usize, usize) {
        let [_, rows, columns] = shape;
        let index = |[plane, row, column]: Triple| (plane * rows + row) * columns + column;
        let first = index(self.offset);
        let [planes, rows, columns] = self.extent;
        (first, first + index([planes - 1, rows - 1, columns - 1]) + 1)
    }

    /// Index and length of each piece of an array of `shape` that lies side by side, in order.
    pub(crate) fn runs(self, shape: Triple) -> impl Iterator<Item = (usize, usize)> {
        let [_, rows, columns] = shape;
        let mut extent = if self.is_empty() { [0; 3] } else { self.extent };
        // Whole rows are one run, whole planes too.
        let mut length = extent[2];
        if extent[2] == columns {
            length *= std::mem::replace(&mut extent[1], 1);
            if self.extent[1] == rows {
                length *= std::mem::replace(&mut extent[0], 1);
            }
        }
        let [plane, row, column] = self.offset;
        let count = if length == 0 { [0; 3] } else { extent };
        (0..count[0]).flat_map(move |i| {
            (0..count[1]).map(move |j| (((plane + i) * rows + row + j) * columns + column, length))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SHAPE: Triple = [3, 4, 5];

    fn areas() -> impl Strategy<Value = Area> {
        (0..3_usize, 0..4_usize, 0..5_usize, 0..4_usize, 0..5_usize, 0..6_usize).prop_map(
            |(a, b, c, d, e, f)| Area {
                offset: [a, b, c],
                extent: [d.min(3 - a), e.min(4 - b), f.min(5 - c)],
            },
        )
    }

    fn elements(area: &Area) -> Vec<usize> {
        let mut all = Vec::new();
        for i in area.offset[0]..area.offset[0] + area.extent[0] {
            for j in area.offset[1]..area.offset[1] + area.extent[1] {
                for k in area.offset[2]..area.offset[2] + area.extent[2] {
                    all.push((i * SHAPE[1] + j) * SHAPE[2] + k);
                }
            }
        }
        all
    }

    proptest! {
        #[test]
        fn sets_of_elements(a in areas(), b in areas()) {
            let (in_a, in_b) = (elements(&a), elements(&b));
            let common = in_a.iter().any(|element| in_b.contains(element));
            prop_assert_eq!(a.overlaps(&b), common);
            prop_assert_eq!(a.is_empty(), in_a.is_empty());
            prop_assert_eq!(a.len(), in_a.len());
            if a.contains(&b) {
                prop_assert!(in_b.iter().all(|element| in_a.contains(element)));
            } else {
                prop_assert!(in_b.iter().any(|element| !in_a.contains(element)));
            }
            let left: Vec<usize> = in_a.iter().copied().filter(|element| !in_b.contains(element)).collect();
            match a.without(&b) {
                Rest::Nothing => prop_assert!(left.is_empty()),
                Rest::Pieces(first, second) => {
                    let mut pieces = elements(&first);
                    pieces.extend(second.iter().flat_map(elements));
                    pieces.sort_unstable();
                    prop_assert_eq!(pieces, left);
                }
                Rest::Other => {}
            }
        }

        #[test]
        fn runs_are_the_elements_in_order(a in areas()) {
            let runs: Vec<usize> = a.runs(SHAPE).flat_map(|(start, length)| start..start + length).collect();
            prop_assert_eq!(&runs, &elements(&a));
            if !a.is_empty() {
                let (first, end) = a.linear(SHAPE);
                prop_assert_eq!((Some(&first), Some(end - 1)), (runs.first(), runs.last().copied()));
            }
        }

        #[test]
        fn rows_are_always_cut_exactly(a in 0..9_usize, b in 1..9_usize, c in 0..9_usize, d in 1..9_usize) {
            let row = |offset, extent| Area { offset: [0, 0, offset], extent: [1, 1, extent] };
            let (own, cut) = (row(a, b), row(c, d));
            if own.overlaps(&cut) {
                prop_assert_ne!(own.without(&cut), Rest::Other);
            }
        }
    }

    #[test]
    fn whole_rows_are_one_run() {
        let rows = Area { offset: [1, 1, 0], extent: [1, 3, 5] };
        assert_eq!(rows.runs(SHAPE).collect::<Vec<_>>(), [(25, 15)]);
        assert_eq!(Area::whole(SHAPE).runs(SHAPE).collect::<Vec<_>>(), [(0, 60)]);
        assert_eq!(Area { offset: [1, 0, 0], extent: [2, 4, 5] }.runs(SHAPE).count(), 1);
        assert_eq!(Area { offset: [0, 0, 1], extent: [2, 2, 2] }.runs(SHAPE).count(), 4);
    }
}
