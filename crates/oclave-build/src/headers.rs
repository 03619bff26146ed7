//! The device headers, embedded so that the published crate contains them.

use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::files;

/// Path below the include folder, and text.
pub(crate) const HEADERS: [(&str, &str); 7] = [
    ("oclave/device_global.hpp", include_str!("../include/oclave/device_global.hpp")),
    ("oclave/host_builtins.h", include_str!("../include/oclave/host_builtins.h")),
    ("oclave/host_convert.h", include_str!("../include/oclave/host_convert.h")),
    ("oclave/host_math.h", include_str!("../include/oclave/host_math.h")),
    ("oclave/if_device.hpp", include_str!("../include/oclave/if_device.hpp")),
    ("oclave/oclave.h", include_str!("../include/oclave/oclave.h")),
    ("oclave/virtual.hpp", include_str!("../include/oclave/virtual.hpp")),
];

/// Writes the headers below `out_dir` and gives the folder for the compiler's search path.
pub(crate) fn write(out_dir: &Path) -> Result<PathBuf> {
    let include = out_dir.join("include");
    for (path, text) in HEADERS {
        files::write(&include.join(path), text.as_bytes())?;
    }
    Ok(include)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_header_is_embedded() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/oclave");
        let mut files: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| format!("oclave/{}", entry.unwrap().file_name().to_str().unwrap()))
            .collect();
        files.sort();
        assert_eq!(files, HEADERS.map(|(path, _)| path), "list them in HEADERS, sorted");
    }
}
