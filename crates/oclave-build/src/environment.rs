//! The process environment as the build sees it: variables with overrides, and programs on the
//! search path.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Variables of the process, some of them replaced for one build.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    overrides: BTreeMap<OsString, OsString>,
    tool_limit: Option<Duration>,
}

/// How long one run of a tool may take, unless the build says otherwise.
const TOOL_LIMIT: Duration = Duration::from_secs(600);

impl Environment {
    pub(crate) fn set(&mut self, key: OsString, value: OsString) {
        self.overrides.insert(key, value);
    }

    pub(crate) fn set_tool_limit(&mut self, limit: Duration) {
        self.tool_limit = Some(limit);
    }

    /// How long one run of a tool may take.
    pub(crate) fn tool_limit(&self) -> Duration {
        self.tool_limit.unwrap_or(TOOL_LIMIT)
    }

    /// A variable; an empty one counts as not set.
    pub(crate) fn var(&self, key: &str) -> Option<OsString> {
        let value = match self.overrides.get(OsStr::new(key)) {
            Some(value) => Some(value.clone()),
            None => std::env::var_os(key),
        };
        value.filter(|value| !value.is_empty())
    }

    /// Whether a variable is set, also to nothing, as cargo sets those of `cfg`s without values.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.overrides.contains_key(OsStr::new(key)) || std::env::var_os(key).is_some()
    }

    /// Whether a variable is set to something other than `0`.
    pub(crate) fn flag(&self, key: &str) -> bool {
        self.var(key).is_some_and(|value| value != "0")
    }

    /// What child processes get on top of the process's own variables.
    pub(crate) fn overrides(&self) -> impl Iterator<Item = (&OsString, &OsString)> {
        self.overrides.iter()
    }

    /// The folders of `PATH`, in order.
    pub(crate) fn search_path(&self) -> Vec<PathBuf> {
        self.var("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
    }

    /// The program of a name that comes first on `PATH`; a name with a folder in it is taken as it
    /// is.
    pub(crate) fn program(&self, name: &OsStr) -> Option<PathBuf> {
        let given = Path::new(name);
        if given.components().count() > 1 {
            return given.is_file().then(|| given.to_path_buf());
        }
        self.search_path().into_iter().map(|folder| folder.join(executable(name))).find(|path| path.is_file())
    }
}

fn executable(name: &OsStr) -> OsString {
    let mut file = name.to_os_string();
    if !std::env::consts::EXE_SUFFIX.is_empty() && Path::new(name).extension().is_none() {
        file.push(std::env::consts::EXE_SUFFIX);
    }
    file
}
