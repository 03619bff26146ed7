//! hashcat's self-tests of raw hashes. The result is known: the kernel must find the one password
//! whose digest is given.
//!
//! Each of hashcat's modules has a password and its digest (`ST_PASS`, `ST_HASH`), which its program
//! tries before it begins. Its kernels `mNNNNN_sxx` (one digest) and `mNNNNN_mxx` (several) of the
//! attack by combinations join each left word with each right word.

use oclave_image::{KernelSignature, ParameterKind};

use super::layout::Layout;
use crate::case::{Argument, Case, Launch, Memory, Space, elements};

/// Number of the module, order of the digest's bytes, digest of [`LEFT`] and [`RIGHT`] together.
const TESTS: [(&str, Words, &str); 10] = [
    ("m00000", Words::Little, "8743b52063cd84097a65d1633f5c74f5"),
    ("m00100", Words::Big, "b89eaac7e61417341b710b727768294d0e6a277b"),
    ("m00900", Words::Little, "afe04867ec7a3845145579a95f72eca7"),
    ("m01000", Words::Little, "b4b9b02e6f09a9bd760f388b67351e2b"),
    ("m01300", Words::Big, "e4fa1555ad877bf0ec455483371867200eee89550a93eff2f95a6198"),
    ("m01400", Words::Big, "127e6fbfe24a750e72930c220a8e138275656b8e5d8f48a98c3c92df2caba935"),
    (
        "m01700",
        Words::BigDouble,
        "82a9dda829eb7f8ffe9fbe49e45d47d2dad9664fbb7adf72492e3c81ebd3e29134d9bc12212bf83c6840f10e8246b9db54a4859b7ccd0123d86e5872c1e5082f",
    ),
    ("m06000", Words::Little, "012cb9b334ec1aeb71a9c8ce85586082467f7eb6"),
    (
        "m06100",
        Words::Big,
        "7ca8eaaaa15eaa4c038b4c47b9313e92da827c06940e69947f85bc0fbef3eb8fd254da220ad9e208b6b28f6bb9be31dd760f1fdb26112d83f87d96b416a4d258",
    ),
    (
        "m10800",
        Words::BigDouble,
        "07371af1ca1fca7c6941d2399f3610f1e392c56c6d73fddffe38f18c430a2817028dae1ef09ac683b62148a2c8757f42",
    ),
];

/// How hashcat reads words from the bytes of a digest.
#[derive(Debug, Clone, Copy)]
enum Words {
    /// 32 bits, the least significant byte first.
    Little,
    /// 32 bits, the most significant byte first.
    Big,
    /// 64 bits, the most significant byte first.
    BigDouble,
}

/// The two parts of the password.
const LEFT: &str = "hash";
const RIGHT: &str = "cat";
/// How many words there are of each part, and where the right ones are.
const LEFTS: u32 = 64;
const RIGHTS: u32 = 4;
const LEFT_AT: u32 = 37;
const RIGHT_AT: u32 = 2;

/// The self-test of a kernel with this body, if it is one of [`TESTS`], and what the elements of each
/// memory are.
pub(crate) fn known(signature: &KernelSignature, body: &str) -> Option<(Case, Vec<Option<Layout>>)> {
    let (module, kind) = signature.name.split_once('_')?;
    let (_, words, digest) = TESTS.iter().find(|(name, ..)| *name == module)?;
    if !matches!(kind, "sxx" | "mxx") || !body.contains("combs_buf") {
        return None;
    }
    let mut memory = Vec::new();
    let mut layouts = Vec::new();
    let (mut found, mut plains) = (None, None);
    for parameter in &signature.parameters {
        let ParameterKind::Pointer { pointee, .. } = &parameter.kind else { return None };
        let layout = Layout::of(pointee, &parameter.name).ok()?;
        let bytes = match &*parameter.name {
            "pws" => (0..LEFTS).flat_map(|at| word(&layout, at == LEFT_AT, LEFT, at)).collect(),
            "combs_buf" => (0..RIGHTS).flat_map(|at| word(&layout, at == RIGHT_AT, RIGHT, at)).collect(),
            "digests_buf" => {
                let words = digest_words(digest, *words);
                element(&layout, |_, lane| words.get(lane).copied().unwrap_or(0))
            }
            "kernel_param" => element(&layout, |field, _| match field {
                "il_cnt" => RIGHTS,
                "gid_max" => LEFTS,
                "digests_cnt" => 1,
                _ => 0,
            }),
            // The kernel looks for each digest in them first.
            name if name.starts_with("bitmaps_buf") => vec![0xFF; 64],
            name => {
                match name {
                    "d_return_buf" => found = Some(memory.len()),
                    "plains_buf" => plains = Some((memory.len(), layout.clone())),
                    _ => {}
                }
                vec![0; layout.stride.max(64).next_multiple_of(layout.stride)]
            }
        };
        memory.push(Memory::Buffer(bytes));
        layouts.push(Some(layout));
    }
    let (found, (plains, plain)) = (found?, plains?);
    let launch = Launch {
        kernel: signature.name.clone(),
        arguments: (0..memory.len()).map(Argument::Memory).collect(),
        space: Space::d1(LEFTS as usize, 32),
    };
    let check = move |contents: &[Vec<u8>]| {
        let count = contents.get(found).and_then(|bytes| elements::<u32>(bytes.get(..4)?).first().copied());
        if count != Some(1) {
            return Err(format!("finds {} passwords, not one", count.unwrap_or(0)));
        }
        let field = |name: &str| {
            let leaf = plain.leaves.iter().find(|leaf| leaf.name == name)?;
            let bytes = contents.get(plains)?.get(leaf.offset..leaf.offset + 4)?;
            elements::<u32>(bytes).first().copied()
        };
        match (field("gidvid"), field("il_pos")) {
            (Some(LEFT_AT), Some(RIGHT_AT)) => Ok(()),
            at => Err(format!("finds another password: {at:?}")),
        }
    };
    let case = Case { name: signature.name.clone(), memory, launches: vec![launch], check: Box::new(check) };
    Some((case, layouts))
}

/// An element of a type whose scalars are 32 or 64 bits wide, from the value of each.
fn element(layout: &Layout, value: impl Fn(&str, usize) -> u32) -> Vec<u8> {
    let mut bytes = vec![0; layout.stride];
    for leaf in &layout.leaves {
        let to = bytes.iter_mut().skip(leaf.offset);
        to.zip(value(&leaf.name, leaf.lane).to_le_bytes()).for_each(|(to, from)| *to = from);
    }
    bytes
}

/// A part of a password: the right one, or one of the same kind.
fn word(layout: &Layout, is_right: bool, right: &str, number: u32) -> Vec<u8> {
    let text = if is_right { right.to_owned() } else { format!("w{number}") };
    let mut bytes = text.clone().into_bytes();
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    let words: Vec<u32> = elements(&bytes);
    element(layout, |field, lane| match field {
        "pw_len" => u32::try_from(text.len()).unwrap_or(0),
        _ => words.get(lane).copied().unwrap_or(0),
    })
}

/// The words of a digest as the kernels have them, in 32 bits.
fn digest_words(digest: &str, words: Words) -> Vec<u32> {
    let size = if matches!(words, Words::BigDouble) { 16 } else { 8 };
    let digits = digest.as_bytes().chunks(size);
    let numbers = digits.filter_map(|digits| u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
    let low = |number: u64| u32::try_from(number & 0xFFFF_FFFF).unwrap_or(0);
    numbers
        .flat_map(|number| match words {
            Words::Little => vec![low(number).swap_bytes()],
            Words::Big => vec![low(number)],
            Words::BigDouble => vec![low(number), low(number >> 32)],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use oclave_image::{Access, AddressSpace, Field, Parameter, Scalar, StructType, ValueType};

    use super::*;

    fn pointer(name: &str, fields: &[(&str, u64)]) -> Parameter {
        let mut offset_bytes = 0;
        let mut field = |(name, words): &(&str, u64)| {
            let ty = ValueType::Array(Box::new(ValueType::Scalar(Scalar::U32)), *words);
            let field = Field { name: (*name).to_owned(), ty, offset_bytes };
            offset_bytes += 4 * words;
            field
        };
        let fields: Vec<Field> = fields.iter().map(&mut field).collect();
        let pointee = ValueType::Struct(StructType {
            name: "S".to_owned(),
            fields,
            size_bytes: offset_bytes,
            align_bytes: 4,
        });
        let kind = ParameterKind::Pointer {
            address_space: AddressSpace::Global,
            access: Access::ReadWrite,
            pointee,
        };
        Parameter { name: name.to_owned(), kind }
    }

    #[test]
    fn only_the_right_password_passes() {
        let mut signature = KernelSignature {
            name: "m00000_sxx".to_owned(),
            parameters: vec![
                pointer("pws", &[("i", 64), ("pw_len", 1)]),
                pointer("plains_buf", &[("gidvid", 2), ("il_pos", 1)]),
                pointer("digests_buf", &[("digest_buf", 4)]),
                pointer("d_return_buf", &[("count", 1)]),
            ],
            required_work_group_size: None,
            uniform_work_groups: false,
            required_sub_group_size: None,
            aspects: Default::default(),
            device_globals: Vec::new(),
        };
        assert!(known(&signature, "pws").is_none());
        let (case, layouts) = known(&signature, "combs_buf").unwrap();
        assert_eq!((layouts.len(), case.memory[0].bytes().len()), (4, 64 * 65 * 4));
        assert_eq!(case.memory[0].bytes()[37 * 65 * 4..][..5], *b"hash\0");
        assert_eq!(case.memory[2].bytes()[..4], [0x87, 0x43, 0xb5, 0x20]);
        let mut contents: Vec<Vec<u8>> = case.memory.iter().map(|memory| memory.bytes().to_vec()).collect();
        assert!((case.check)(&contents).is_err());
        contents[3][0] = 1;
        assert!((case.check)(&contents).is_err());
        (contents[1][0], contents[1][8]) = (37, 2);
        assert_eq!((case.check)(&contents), Ok(()));
        signature.name = "m99999_sxx".to_owned();
        assert!(known(&signature, "combs_buf").is_none());
    }

    #[test]
    fn digests_are_words() {
        assert_eq!(digest_words("0102030405060708", Words::Little), [0x0403_0201, 0x0807_0605]);
        assert_eq!(digest_words("0102030405060708", Words::Big), [0x0102_0304, 0x0506_0708]);
        assert_eq!(digest_words("0102030405060708", Words::BigDouble), [0x0506_0708, 0x0102_0304]);
    }
}
