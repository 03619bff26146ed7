//! The other way from the LLVM IR of rustc to SPIR-V: `llvm-spirv`, for comparison with `oclave-rust`.
//!
//! rustc writes IR for the host. Here its text becomes IR for `spir64`, whose pointers are all generic. The functions of `oclave-kernel`
//! that have no body become parameters of the kernel, and functions of OpenCL. Panics are undefined: the kernels have none.
//! The text is that of the kernels in Rust that this crate prints. Other kernels may have more than is known here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "target datalayout = \"e-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-n8:16:32:64-G1\"
target triple = \"spir64-unknown-unknown\"
";
/// With the version of OpenCL, `llvm-spirv` takes functions by their names in OpenCL for instructions of SPIR-V.
const VERSIONS: &str = "!opencl.spir.version = !{!0}
!opencl.ocl.version = !{!0}
!0 = !{i32 2, i32 0}
";
const KERNEL: &str = "@__oclave_kernel_";
/// Both kinds of memory, for `barrier`.
const FENCES: u32 = 3;

/// Functions without a body that are functions of OpenCL with one number.
const FUNCTIONS: [(&str, &str); 6] = [
    ("@__oclave_global_id(", "@_Z13get_global_idj("),
    ("@__oclave_global_size(", "@_Z15get_global_sizej("),
    ("@__oclave_local_id(", "@_Z12get_local_idj("),
    ("@__oclave_local_size(", "@_Z14get_local_sizej("),
    ("@__oclave_group_id(", "@_Z12get_group_idj("),
    ("@__oclave_group_count(", "@_Z14get_num_groupsj("),
];

/// Translates a file of IR to SPIR-V by `llvm-link` and `llvm-spirv` of the same version of LLVM, or a newer one.
///
/// # Errors
/// Where a file or a tool fails.
pub fn translate(ir: &Path, to: &Path, llvm_link: &str, llvm_spirv: &str) -> io::Result<()> {
    let (text, bitcode) = (to.with_extension("spir.ll"), to.with_extension("bc"));
    fs::write(&text, for_spir(&fs::read_to_string(ir)?))?;
    run(Command::new(llvm_link).arg(&text).arg("-o").arg(&bitcode))?;
    run(Command::new(llvm_spirv).arg(&bitcode).arg("-o").arg(to).args(["--spirv-max-version=1.2"]))
}

fn run(command: &mut Command) -> io::Result<()> {
    let output =
        command.output().map_err(|error| io::Error::new(error.kind(), format!("{command:?}: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(format!("{command:?} failed: {said}")))
}

/// The IR of rustc as IR for `spir64`.
pub fn for_spir(ir: &str) -> String {
    let mut text = Text { out: TARGET.to_owned(), ..Text::default() };
    let is_kept = |line: &&str| {
        let line = line.trim_start();
        ![
            "target ",
            ";",
            "!",
            "#",
            "attributes ",
            "source_filename",
            "@__oclave_description",
            "@llvm.used",
            "^",
        ]
        .iter()
        .any(|start| line.starts_with(start))
            && !line.contains("@rust_eh_personality(")
    };
    for line in ir.lines().filter(is_kept) {
        text.line(line);
    }
    text.finish()
}

#[derive(Default)]
struct Text {
    out: String,
    /// The parameters of the kernel that is being written: number → type.
    parameters: BTreeMap<u32, &'static str>,
    /// Its name and its lines.
    kernel: Option<(String, String)>,
    /// Variables in local memory.
    locals: String,
    local_count: u32,
    /// Functions that are equal to others, and these.
    aliases: Vec<(String, String)>,
}

impl Text {
    fn line(&mut self, line: &str) {
        let line = without_metadata(line);
        if let Some((alias, function)) =
            line.split_once(" = ").filter(|_| line.starts_with('@') && line.contains(" alias "))
        {
            let function = function.rsplit('@').next().unwrap_or_default();
            self.aliases.push((format!("{alias}("), format!("@{function}(")));
            return;
        }
        if let Some(name) = line.strip_prefix("define ").and_then(|head| head.split(KERNEL).nth(1)) {
            let name = name.split('(').next().unwrap_or_default().to_owned();
            self.kernel = Some((name, String::new()));
            return;
        }
        if line == "}"
            && let Some((name, body)) = self.kernel.take()
        {
            let parameters = std::mem::take(&mut self.parameters);
            let parameters: Vec<String> =
                parameters.iter().map(|(number, ty)| format!("{ty} %argument{number}")).collect();
            let _ =
                write!(self.out, "define spir_kernel void @{name}({}) {{\n{body}}}\n", parameters.join(", "));
            return;
        }
        let Some(line) = self.instruction(&line) else { return };
        let to = self.kernel.as_mut().map_or(&mut self.out, |(_, body)| body);
        to.push_str(&line);
        to.push('\n');
    }

    fn instruction(&mut self, line: &str) -> Option<String> {
        let dropped = [
            "@llvm.lifetime.",
            "@llvm.assume(",
            "@llvm.experimental.noalias.scope",
            "@__oclave_whole(",
            " asm sideeffect ",
            "9panicking",
            "13out_of_bounds",
            "@__oclave_argument_",
            "@__oclave_local_memory(",
        ];
        if let Some((result, call)) = line.trim_start().split_once(" = ") {
            let number =
                |of: &str| call.split(of).nth(1)?.split(['(', ')']).nth(1)?.rsplit(' ').next()?.parse().ok();
            for (function, ty, value) in [
                (
                    "@__oclave_argument_global",
                    "ptr addrspace(1)",
                    "addrspacecast ptr addrspace(1) % to ptr addrspace(4)",
                ),
                ("@__oclave_argument_u64", "i64", "add i64 %, 0"),
                ("@__oclave_argument_u32", "i32", "add i32 %, 0"),
            ] {
                if let Some(number) = number(function) {
                    self.parameters.insert(number, ty);
                    return Some(format!(
                        "  {result} = {}",
                        value.replace('%', &format!("%argument{number}"))
                    ));
                }
            }
            if let Some(bytes) = number("@__oclave_local_memory") {
                let at = self.local_count;
                self.local_count += 1;
                let _ = writeln!(
                    self.locals,
                    "@local{at} = internal unnamed_addr addrspace(3) global [{bytes} x i8] undef, align 16"
                );
                return Some(format!(
                    "  {result} = addrspacecast ptr addrspace(3) @local{at} to ptr addrspace(4)"
                ));
            }
            if let Some(memory) = call.strip_prefix("alloca ") {
                return Some(format!(
                    "  {result}.private = alloca {memory}\n  {result} = addrspacecast ptr {result}.private to ptr addrspace(4)"
                ));
            }
        }
        if dropped.iter().any(|name| line.contains(name)) {
            return None;
        }
        if line.contains("@__oclave_barrier(") {
            return Some(if line.starts_with("declare") {
                "declare spir_func void @_Z7barrierj(i32) convergent".to_owned()
            } else {
                format!("  call spir_func void @_Z7barrierj(i32 {FENCES}) convergent")
            });
        }
        let mut line = line.to_owned();
        for (from, to) in FUNCTIONS {
            line = line.replace(from, to);
        }
        let is_function = !line.contains("@llvm.");
        for (from, to) in [("define ", "define spir_func "), ("declare ", "declare spir_func ")] {
            if is_function && line.starts_with(from) {
                line = line.replacen(from, to, 1);
            }
        }
        if is_function {
            line = line.replacen(" call ", " call spir_func ", 1);
        }
        let line = line.replace(" unnamed_addr ", " ").replace(" personality ptr @rust_eh_personality", "");
        let line = line.trim_end_matches(" unnamed_addr").to_owned();
        if line.starts_with('@') {
            // Constants lie in global memory, and so does what they refer to.
            return Some(generic(&line, "ptr addrspace(1)").replacen(
                " constant ",
                " addrspace(1) constant ",
                1,
            ));
        }
        Some(with_constants(&generic(&line, "ptr addrspace(4)")).replace(".p0", ".p4"))
    }

    fn finish(self) -> String {
        let text = self.out + &self.locals + VERSIONS;
        self.aliases.iter().fold(text, |text, (alias, function)| text.replace(alias, function))
    }
}

/// A line without its metadata, comments and groups of attributes.
fn without_metadata(line: &str) -> String {
    let end = line.find(", !").or_else(|| line.find(" !")).unwrap_or(line.len());
    let ends_block = line.trim_end().ends_with('{');
    let mut text = line[..end].trim_end().to_owned();
    // Groups are words: `#12`.
    text = text.split(' ').filter(|word| !word.starts_with('#')).collect::<Vec<_>>().join(" ");
    let text = text.split(" ; ").next().unwrap_or_default().trim_end().trim_end_matches(';').to_owned();
    if ends_block && !text.ends_with('{') { text + " {" } else { text }
}

/// A line with another type for its pointers.
fn generic(line: &str, pointer: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(at) = rest.find("ptr") {
        let (before, tail) = rest.split_at(at);
        let tail = &tail[3..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_.%@\"".contains(c);
        let begins = !before.ends_with(is_word);
        let ends = !tail.starts_with(|c: char| is_word(c) && c != '%' && c != '@')
            && !tail.starts_with(" addrspace");
        text += before;
        text += if begins && ends { pointer } else { "ptr" };
        rest = tail;
    }
    text + rest
}

/// A line of a function whose constants are generic pointers.
fn with_constants(line: &str) -> String {
    let mut text = String::new();
    for (index, word) in line.split(' ').enumerate() {
        let name = word.trim_end_matches([',', ')']);
        let tail = &word[name.len()..];
        text += if index == 0 { "" } else { " " };
        if name.starts_with("@alloc_") {
            let _ = write!(text, "addrspacecast (ptr addrspace(1) {name} to ptr addrspace(4)){tail}");
        } else {
            text += word;
        }
    }
    text
}
