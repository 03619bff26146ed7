//! The files of `src/graph` and of `src/command` import each other without circles; reads the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

type Module = Vec<String>;

/// The sources below a folder, by module; unit tests left out.
fn sources(folder: &Path, module: &Module, all: &mut BTreeMap<Module, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let own = [module.as_slice(), &[name.to_owned()]].concat();
        if path.is_dir() {
            sources(&path, &own, all);
        } else if name != "tests" {
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            let code = text.lines().map(|line| line.split("//").next().unwrap());
            let own = if name == "mod" { module.clone() } else { own };
            all.insert(own, code.collect::<Vec<_>>().join("\n"));
        }
    }
}

/// Names, `::`, and single characters.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let len = match first {
            c if is_name(c) => rest.find(|c| !is_name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        let (token, behind) = rest.split_at(len);
        tokens.push(token);
        rest = behind.trim_start();
    }
    tokens
}

/// Adds the paths from a token on, each behind `prefix`: one, or those in braces. Gives the place
/// behind them.
fn read_paths(tokens: &[&str], mut at: usize, mut prefix: Module, paths: &mut Vec<Module>) -> usize {
    if tokens[at] == "{" {
        at += 1;
        while tokens[at] != "}" {
            at = if tokens[at] == "," { at + 1 } else { read_paths(tokens, at, prefix.clone(), paths) };
        }
        return at + 1;
    }
    prefix.push(tokens[at].to_owned());
    match tokens.get(at + 1..).unwrap_or(&[]) {
        ["::", "<", ..] => paths.push(prefix),
        ["::", ..] => return read_paths(tokens, at + 2, prefix, paths),
        ["as", ..] => {
            paths.push(prefix);
            return at + 3;
        }
        _ => paths.push(prefix),
    }
    at + 1
}

/// The paths of a file to other modules of the crate, from the root of the crate on.
fn paths(module: &Module, code: &str, is_module: impl Fn(&Module) -> bool) -> Vec<Module> {
    let tokens = tokens(code);
    let mut all = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let begins = at.checked_sub(1).is_none_or(|before| tokens[before] != "::");
        if !begins || tokens.get(at + 1) != Some(&"::") {
            continue;
        }
        let child = [module.as_slice(), &[(*token).to_owned()]].concat();
        let mut found = Vec::new();
        if matches!(*token, "crate" | "self" | "super") || is_module(&child) {
            read_paths(&tokens, at, Vec::new(), &mut found);
        }
        all.extend(found.into_iter().map(|path| {
            let ups = path.iter().filter(|name| *name == "super").count();
            let names = path.iter().filter(|name| !matches!(name.as_str(), "crate" | "self" | "super"));
            let base = if path[0] == "crate" { &[] } else { &module[..module.len() - ups.min(module.len())] };
            base.iter().chain(names).cloned().collect()
        }));
    }
    all
}

#[test]
fn files_of_graphs_import_each_other_without_circles() {
    without_circles("graph", 100);
}

#[test]
fn files_of_commands_import_each_other_without_circles() {
    without_circles("command", 50);
}

/// Checks a folder of `src`, in which more than so many imports must be found.
fn without_circles(folder: &str, imports: usize) {
    let root: Module = vec![folder.to_owned()];
    let mut sources_of = BTreeMap::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../src").join(folder), &root, &mut sources_of);
    let is_module = |path: &Module| sources_of.contains_key(path);
    // What the crate's root has from the folder.
    let public = paths(&root, &sources_of[&root], is_module);
    let public: BTreeMap<&String, &Module> = public.iter().map(|path| (path.last().unwrap(), path)).collect();
    let file = |path: &Module| (1..=path.len()).rev().map(|len| path[..len].to_vec()).find(is_module);
    let names: BTreeMap<&Module, String> = sources_of.keys().map(|file| (file, file.join("::"))).collect();
    let mut edges: BTreeSet<(&str, &str)> = BTreeSet::new();
    for (module, code) in sources_of.iter().filter(|(module, _)| **module != root) {
        for path in paths(module, code, is_module) {
            let behind = path.iter().find(|name| *name != folder).and_then(|name| public.get(name));
            let is_public = path.len() == 1 || path[0] == folder && path.len() == 2;
            let path = behind.filter(|_| is_public).map_or(&path, |public| public);
            if let Some(other) = file(path).filter(|other| other != module) {
                edges.insert((&names[module], &names[&other]));
            }
        }
    }
    assert!(edges.len() > imports, "only {} imports were found", edges.len());
    // Files that import none of the others, or that none of them imports, are on no circle.
    loop {
        let from: BTreeSet<&str> = edges.iter().map(|edge| edge.0).collect();
        let to: BTreeSet<&str> = edges.iter().map(|edge| edge.1).collect();
        let before = edges.len();
        edges.retain(|edge| to.contains(edge.0) && from.contains(edge.1));
        if edges.len() == before {
            break;
        }
    }
    assert!(edges.is_empty(), "circles of imports: {edges:#?}");
}
