//! Versions of OpenCL, SPIR-V and extensions.

use std::fmt;

use crate::sys::cl_version;

/// A version; 0.0.0 when it is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[allow(missing_docs, reason = "the fields are what they are called")]
pub struct Version {
    pub major: u16,
    pub minor: u16,
    pub patch: u16,
}

impl Version {
    /// A version from its parts.
    pub const fn new(major: u16, minor: u16, patch: u16) -> Self {
        Self { major, minor, patch }
    }

    /// From OpenCL's packed form: 10 bits major, 10 bits minor, 12 bits patch.
    pub(crate) const fn from_cl(version: cl_version) -> Self {
        Self {
            major: (version >> 22) as u16,
            minor: ((version >> 12) & 0x3ff) as u16,
            patch: (version & 0xfff) as u16,
        }
    }

    /// The first `major.minor[.patch]` in a text such as `OpenCL 3.0 CUDA 12.4` or `SPIR-V_1.2`.
    pub(crate) fn in_text(text: &str) -> Option<Self> {
        text.split(|c: char| !c.is_ascii_digit() && c != '.').find_map(|word| {
            let mut parts = word.split('.').map(str::parse::<u16>);
            let major = parts.next()?.ok()?;
            let minor = parts.next()?.ok()?;
            Some(Self { major, minor, patch: parts.next().and_then(Result::ok).unwrap_or(0) })
        })
    }

    /// Whether the version is not known.
    pub(crate) fn is_unknown(self) -> bool {
        self == Self::default()
    }
}

impl fmt::Display for Version {
    /// `1.2`, `0.9.4` (the patch only when it is not 0), `?` when not known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unknown() {
            return f.write_str("?");
        }
        write!(f, "{}.{}", self.major, self.minor)?;
        if self.patch != 0 { write!(f, ".{}", self.patch) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_versions_unpack() {
        assert_eq!(Version::from_cl((3 << 22) | (1 << 12) | 7), Version::new(3, 1, 7));
        assert_eq!(Version::from_cl(u32::MAX), Version::new(0x3ff, 0x3ff, 0xfff));
    }

    #[test]
    fn versions_are_found_in_text() {
        assert_eq!(Version::in_text("OpenCL 3.0 CUDA 12.4.89"), Some(Version::new(3, 0, 0)));
        assert_eq!(Version::in_text("SPIR-V_1.2"), Some(Version::new(1, 2, 0)));
        assert_eq!(Version::in_text("2026.21.5.0 build 7"), Some(Version::new(2026, 21, 5)));
        assert_eq!(Version::in_text("none. at all 7"), None);
        assert_eq!(Version::in_text("99999999.1"), None);
        assert_eq!(Version::in_text(""), None);
    }

    #[test]
    fn versions_print_short() {
        assert_eq!(Version::new(1, 0, 0).to_string(), "1.0");
        assert_eq!(Version::new(0, 9, 4).to_string(), "0.9.4");
        assert_eq!(Version::default().to_string(), "?");
        assert!(Version::new(0, 9, 10) > Version::new(0, 9, 5));
    }
}
