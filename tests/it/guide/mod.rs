//! The kernels that `docs/guide` shows are those of `kernels/guide`, which its programs run.

mod migration;

use std::fs;
use std::path::Path;

/// The fenced blocks of a page in one of `languages`, with the line on which each begins.
fn blocks(page: &str, languages: &[&str]) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    let mut fenced = false;
    for (index, line) in page.lines().enumerate() {
        if let Some(language) = line.strip_prefix("```") {
            fenced = !fenced;
            if let Some(block) = open.take() {
                found.push(block);
            } else if fenced && languages.contains(&language) {
                open = Some((index + 1, String::new()));
            }
        } else if let Some((_, text)) = &mut open {
            text.push_str(line);
            text.push('\n');
        }
    }
    found
}

fn texts(folder: &str, extensions: &[&str]) -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(folder);
    let mut texts = Vec::new();
    for entry in fs::read_dir(&folder).expect("the folder is part of the repository") {
        let path = entry.expect("the folder can be read").path();
        if path.extension().is_some_and(|found| extensions.iter().any(|extension| found == *extension)) {
            texts.push((path.display().to_string(), fs::read_to_string(&path).expect("a text file")));
        }
    }
    texts
}

#[test]
fn kernels_in_the_guide_are_those_that_its_programs_run() {
    let kernels = texts("kernels/guide", &["cl", "clcpp"]);
    let mut seen = 0;
    for (page, text) in texts("docs/guide", &["md"]) {
        for (line, block) in blocks(&text, &["c", "cpp"]) {
            seen += 1;
            assert!(
                kernels.iter().any(|(_, kernel)| kernel.contains(&block)),
                "{page}:{line}: no file of kernels/guide contains this block:\n{block}"
            );
        }
    }
    assert!(seen >= 6, "only {seen} blocks of kernel code were found");
}

#[test]
fn every_page_of_the_guide_begins_with_a_program_and_is_in_the_index() {
    let pages = texts("docs/guide", &["md"]);
    let index = pages.iter().find(|(path, _)| path.ends_with("README.md")).expect("the guide has an index");
    let tested = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("guide.rs"))
        .expect("the programs of the guide are doc tests");
    for (path, text) in &pages {
        let name = Path::new(path).file_name().and_then(|name| name.to_str()).expect("a UTF-8 name");
        if name == "README.md" {
            continue;
        }
        assert!(index.1.contains(&format!("({name})")), "the index does not name {name}");
        assert!(tested.contains(&format!("\"{name}\"")), "tests/guide.rs does not compile {name}");
        let first = text.lines().find(|line| line.starts_with("```"));
        assert_eq!(first, Some("```rust"), "{name} does not begin with a program");
    }
}
