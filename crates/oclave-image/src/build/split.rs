//! Which kernels go into which image.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Aspects, KernelSignature, SplitMode};

/// The aspects that split images: a device may lack them. The compiler introduces generic pointers
/// where the source has none, so these do not.
pub(crate) const PARTING: Aspects = Aspects::all().difference(Aspects::GENERIC_POINTER);

/// The same where kernels with and without program-scope variables share an image-scope variable,
/// and so stay together.
pub(crate) const PARTING_WITHOUT_VARIABLES: Aspects = PARTING.difference(Aspects::PROGRAM_SCOPE_VARIABLES);

/// One image to be: its name and its kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) name: String,
    /// Stem of the source, or of the unit.
    pub(crate) stem: String,
    pub(crate) kernels: BTreeSet<String>,
    /// Names of exported functions that the image is made of besides.
    pub(crate) exports: BTreeSet<String>,
    /// The set of indirectly callable functions that it provides.
    pub(crate) set: Option<String>,
}

/// Distributes kernels over images, sorted by name.
///
/// If all kernels of a stem have the same aspects and sub-group size, they form one image of that
/// name. Otherwise kernels without special aspects form `stem`, and the others form `stem.fp64`,
/// `stem.fp64-image`, `stem.sub_groups-8`, …. Required work-group sizes do not split images,
/// because drivers build kernels that they cannot launch. Intel's driver rejects a whole module
/// because of one kernel with an unknown sub-group size.
///
/// Kernels whose virtual calls nest (`depths`) are apart from those whose calls do not, in
/// `stem.depth-4`. Each level is a copy of the functions, and drivers compile a module as a whole.
/// Of the aspects, only those of `parting` count.
pub(crate) fn split(
    unit: &str,
    kernels: &[KernelSignature],
    sources: &BTreeMap<String, String>,
    depths: &BTreeMap<String, u32>,
    parting: Aspects,
    mode: SplitMode,
) -> Vec<Part> {
    /// What kernels of one image have in common.
    type Key = (String, Aspects, Option<u32>, Option<u32>);
    let mut stems: BTreeMap<String, BTreeMap<Key, BTreeSet<String>>> = BTreeMap::new();
    for kernel in kernels {
        let source = sources.get(&kernel.name).map_or(unit, String::as_str);
        let (stem, part) = match mode {
            SplitMode::Off => (unit, String::new()),
            SplitMode::PerSource => (source, String::new()),
            SplitMode::PerKernel => (source, kernel.name.clone()),
        };
        let parts = stems.entry(stem.to_owned()).or_default();
        let depth = depths.get(&kernel.name).copied();
        let key = (part, kernel.aspects & parting, kernel.required_sub_group_size, depth);
        parts.entry(key).or_default().insert(kernel.name.clone());
    }
    let mut images = Vec::new();
    for (stem, parts) in stems {
        let several = parts.len() > 1;
        for ((part, aspects, sub_group_size, depth), kernels) in parts {
            let suffix = if mode == SplitMode::PerKernel {
                part
            } else if several {
                let size = sub_group_size.map(|size| size.to_string());
                let depth = depth.map(|depth| format!("depth-{depth}"));
                aspects.names().map(str::to_owned).chain(size).chain(depth).collect::<Vec<_>>().join("-")
            } else {
                String::new()
            };
            let name = if suffix.is_empty() { stem.clone() } else { format!("{stem}.{suffix}") };
            images.push(Part { name, stem: stem.clone(), kernels, exports: BTreeSet::new(), set: None });
        }
    }
    images.sort_by(|a, b| a.name.cmp(&b.name));
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(name: &str, aspects: Aspects) -> KernelSignature {
        KernelSignature {
            name: name.into(),
            parameters: Vec::new(),
            required_work_group_size: None,
            uniform_work_groups: false,
            required_sub_group_size: None,
            aspects,
            device_globals: Vec::new(),
        }
    }

    fn names(mode: SplitMode, kernels: &[KernelSignature]) -> Vec<(String, Vec<String>)> {
        let sources = BTreeMap::from([("b1".to_owned(), "b".to_owned()), ("b2".to_owned(), "b".to_owned())]);
        let depths = BTreeMap::from([("deep".to_owned(), 4), ("deeper".to_owned(), 8)]);
        split("a", kernels, &sources, &depths, PARTING, mode)
            .into_iter()
            .map(|p| (p.name, p.kernels.into_iter().collect()))
            .collect()
    }

    #[test]
    fn every_mode_parts_aspects() {
        let kernels = [
            kernel("a1", Aspects::empty()),
            kernel("a2", Aspects::FP64 | Aspects::IMAGE),
            kernel("b1", Aspects::FP64),
            kernel("b2", Aspects::FP64 | Aspects::GENERIC_POINTER),
        ];
        let part = |name: &str, kernels: &[&str]| {
            (name.to_owned(), kernels.iter().map(|k| (*k).to_owned()).collect())
        };
        assert_eq!(
            names(SplitMode::PerSource, &kernels),
            [part("a", &["a1"]), part("a.fp64-image", &["a2"]), part("b", &["b1", "b2"])]
        );
        assert_eq!(
            names(SplitMode::PerKernel, &kernels),
            [part("a.a1", &["a1"]), part("a.a2", &["a2"]), part("b.b1", &["b1"]), part("b.b2", &["b2"])]
        );
        assert_eq!(
            names(SplitMode::Off, &kernels),
            [part("a", &["a1"]), part("a.fp64", &["b1", "b2"]), part("a.fp64-image", &["a2"])]
        );
        assert_eq!(names(SplitMode::PerSource, &[]), []);
    }

    #[test]
    fn program_scope_variables_part_unless_they_must_not() {
        let kernels = [
            kernel("alone", Aspects::empty()),
            kernel("user", Aspects::PROGRAM_SCOPE_VARIABLES),
            kernel("other", Aspects::PROGRAM_SCOPE_VARIABLES),
        ];
        let parts = |parting| {
            let parts =
                split("a", &kernels, &BTreeMap::new(), &BTreeMap::new(), parting, SplitMode::PerSource);
            parts.into_iter().map(|part| (part.name, part.kernels.len())).collect::<Vec<_>>()
        };
        assert_eq!(parts(PARTING), [("a".to_owned(), 1), ("a.program_scope_variables".to_owned(), 2)]);
        assert_eq!(parts(PARTING_WITHOUT_VARIABLES), [("a".to_owned(), 3)]);
    }

    #[test]
    fn depths_part() {
        let kernels = [
            kernel("a1", Aspects::empty()),
            kernel("deep", Aspects::empty()),
            kernel("deeper", Aspects::FP64),
            kernel("a2", Aspects::empty()),
        ];
        let part = |name: &str, kernels: &[&str]| {
            (name.to_owned(), kernels.iter().map(|k| (*k).to_owned()).collect())
        };
        assert_eq!(
            names(SplitMode::Off, &kernels),
            [part("a", &["a1", "a2"]), part("a.depth-4", &["deep"]), part("a.fp64-depth-8", &["deeper"])]
        );
        assert_eq!(names(SplitMode::Off, &kernels[1..2]), [part("a", &["deep"])]);
    }

    #[test]
    fn required_sub_groups_part_and_work_groups_do_not() {
        let sub_groups = |name, size| KernelSignature {
            required_sub_group_size: size,
            ..kernel(name, Aspects::SUB_GROUPS)
        };
        let wide =
            KernelSignature { required_work_group_size: Some([64, 1, 1]), ..kernel("a5", Aspects::empty()) };
        let kernels = [
            sub_groups("a1", None),
            sub_groups("a2", Some(8)),
            sub_groups("a3", Some(16)),
            sub_groups("a4", Some(8)),
            wide,
            kernel("a6", Aspects::empty()),
        ];
        let part = |name: &str, kernels: &[&str]| {
            (name.to_owned(), kernels.iter().map(|k| (*k).to_owned()).collect())
        };
        assert_eq!(
            names(SplitMode::Off, &kernels),
            [
                part("a", &["a5", "a6"]),
                part("a.sub_groups", &["a1"]),
                part("a.sub_groups-16", &["a3"]),
                part("a.sub_groups-8", &["a2", "a4"]),
            ]
        );
        assert_eq!(names(SplitMode::Off, &kernels[1..2]), [part("a", &["a2"])]);
    }
}
