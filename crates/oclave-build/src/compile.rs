//! Compiles the sources to LLVM IR, one by one and in parallel, and reads what they declare.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::ast::Declarations;
use crate::command::{self, Run};
use crate::config::Config;
use crate::depfile;
use crate::error::{Error, ErrorKind, Result};
use crate::files;
use crate::ir::{self, Leftover};
use crate::pipeline;
use crate::source::{Language, Source};
use crate::toolchain::{Tool, Toolchain};

/// What clang compiles for: SPIR-V's precursor, which llvm-spirv takes.
pub(crate) const TARGET: &str = "spir64";

/// A compiled source.
#[derive(Debug)]
pub(crate) struct Unit {
    pub(crate) bitcode: PathBuf,
    /// What the translator will refuse.
    pub(crate) leftovers: Vec<Leftover>,
    pub(crate) declarations: Declarations,
    /// The source and all headers that it includes, the compiler's own not among them.
    pub(crate) dependencies: Vec<PathBuf>,
    /// The compiler's warnings, with their notes.
    pub(crate) warnings: Vec<String>,
}

/// How much a source is optimised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Effort {
    pub(crate) level: u32,
    /// Whether sums over loops may become products, which need integers of twice the width.
    pub(crate) closed_forms: bool,
}

impl Effort {
    pub(crate) fn level(level: u32) -> Self {
        Self { level, closed_forms: true }
    }
}

impl std::fmt::Display for Effort {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "-O{}", self.level)?;
        if self.closed_forms { Ok(()) } else { f.write_str(" without closed forms of loops") }
    }
}

/// A program that optimises LLVM IR.
#[derive(Debug, Clone, Copy)]
enum Optimiser<'a> {
    /// `opt`, with the passes of [`pipeline`].
    Opt(&'a Tool),
    /// Clang, with those of its own level.
    Clang,
}

/// What compiles.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Compiler<'a> {
    pub(crate) config: &'a Config,
    pub(crate) toolchain: &'a Toolchain,
    /// Where oclave's device headers are.
    pub(crate) headers: &'a Path,
    /// Where intermediate files go.
    pub(crate) work: &'a Path,
}

impl Compiler<'_> {
    /// Compiles all sources on up to as many threads as there are cores. All errors are reported,
    /// not only the first.
    pub(crate) fn compile(&self, sources: &[Source], effort: Effort) -> Result<Vec<Unit>> {
        let next = AtomicUsize::new(0);
        let done = Mutex::new(Vec::new());
        let threads = self.threads().min(sources.len());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some((index, source)) = {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        sources.get(index).map(|source| (index, source))
                    } {
                        let unit = self.compile_one(source, effort);
                        done.lock().unwrap_or_else(PoisonError::into_inner).push((index, unit));
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_by_key(|(index, _)| *index);
        let (units, mut errors): (Vec<_>, Vec<_>) =
            done.into_iter().map(|(_, unit)| unit).partition(|unit| unit.is_ok());
        match errors.len() {
            0 => units.into_iter().collect(),
            1 => errors.swap_remove(0).map(|_| Vec::new()),
            _ => {
                let texts: Vec<String> =
                    errors.iter().filter_map(|error| Some(error.as_ref().err()?.to_string())).collect();
                Err(Error::new(ErrorKind::Compile, texts.join("\n\n")))
            }
        }
    }

    fn threads(&self) -> usize {
        let jobs = self.config.environment.var("NUM_JOBS").and_then(|jobs| jobs.to_str()?.parse().ok());
        jobs.or_else(|| std::thread::available_parallelism().ok().map(Into::into)).unwrap_or(1).max(1)
    }

    /// Compiles a source. Its declarations are read meanwhile.
    pub(crate) fn compile_one(&self, source: &Source, effort: Effort) -> Result<Unit> {
        let ir = self.work.join(format!("{}.ll", source.stem));
        let depfile = self.work.join(format!("{}.d", source.stem));
        let (compiled, declarations) = std::thread::scope(|scope| {
            let declarations = scope.spawn(|| self.declarations(source, effort.level));
            let compiled = self.compile_to_ir(source, effort, &ir, &depfile);
            (compiled, declarations.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        // A source that does not compile has no declarations either; the compiler's own words come
        // first.
        let (warnings, declarations) = (compiled?, declarations?);
        let (bitcode, leftovers) = self.bitcode(source, effort, &ir, &declarations)?;
        let rules = String::from_utf8_lossy(&files::read(&depfile)?).into_owned();
        let dependencies = depfile::prerequisites(&rules);
        Ok(Unit { bitcode, leftovers, declarations, dependencies, warnings })
    }

    /// Writes the LLVM IR of a source, optimised, and gives the compiler's warnings.
    fn compile_to_ir(
        &self,
        source: &Source,
        effort: Effort,
        ir: &Path,
        depfile: &Path,
    ) -> Result<Vec<String>> {
        let mut args = self.ir_arguments(source, effort);
        args.extend(["-S", "-MMD", "-MF"].map(OsString::from));
        args.extend([depfile.into(), "-o".into(), ir.into()]);
        let optimiser = self.optimiser(effort);
        if optimiser.is_some() {
            args.extend(["-Xclang", "-disable-llvm-passes"].map(OsString::from));
        }
        let run = self.run(args, source)?;
        if !run.success {
            return Err(refused(source, &run));
        }
        if let Some(optimiser) = optimiser {
            self.optimise(source, effort, optimiser, ir)?;
        }
        Ok(warnings(&run.stderr))
    }

    /// What optimises LLVM IR after clang wrote it; `None` if clang optimises while it compiles.
    fn optimiser(&self, effort: Effort) -> Option<Optimiser<'_>> {
        match (effort.level, &self.toolchain.opt) {
            (0, _) => None,
            (2.., Some(opt)) => Some(Optimiser::Opt(opt)),
            _ => ir::merges_convergent_calls(self.toolchain.clang.version.major).then_some(Optimiser::Clang),
        }
    }

    /// Optimises the LLVM IR of a source that no pass has seen, with its barriers marked.
    fn optimise(&self, source: &Source, effort: Effort, optimiser: Optimiser<'_>, text: &Path) -> Result<()> {
        let major = self.toolchain.clang.version.major;
        let code = files::read(text)?;
        let code = String::from_utf8_lossy(&code);
        if ir::merges_convergent_calls(major) {
            files::write(text, ir::keep_convergent_calls_apart(&code).as_bytes())?;
        }
        let (tool, mut args) = match optimiser {
            Optimiser::Opt(opt) => {
                let passes = pipeline::passes(major, ir::calls_group_functions(&code));
                let mut args = vec!["-S".into(), format!("-passes={passes}").into()];
                if ir::needs_typed_pointers_option(major) {
                    args.push("-opaque-pointers=0".into());
                }
                if !effort.closed_forms {
                    args.push("-replexitval=never".into());
                }
                (opt, args)
            }
            Optimiser::Clang => {
                let mut args: Vec<OsString> =
                    ["-target", TARGET, "-x", "ir", "-S", "-w"].map(OsString::from).into();
                args.push(format!("-O{}", effort.level).into());
                args.extend(self.optimiser_arguments(effort));
                if ir::needs_typed_pointers_option(major) {
                    args.extend(["-mllvm", "-opaque-pointers=0"].map(OsString::from));
                }
                (&self.toolchain.clang, args)
            }
        };
        args.extend(["-o".into(), text.into(), text.into()]);
        if command::run(&tool.path, &args, &self.config.environment)?.success {
            return Ok(());
        }
        // LLVM 15 writes text that it does not read back. Then clang optimises, and merges no call at all.
        let mut args = self.ir_arguments(source, effort);
        args.extend(ir::KEEP_CALLS_APART.map(OsString::from));
        args.extend(["-S".into(), "-w".into(), "-o".into(), text.into()]);
        let run = self.run(args, source)?;
        if !run.success {
            return Err(refused(source, &run));
        }
        Ok(())
    }

    /// Arguments that make LLVM IR of a source.
    fn ir_arguments(&self, source: &Source, effort: Effort) -> Vec<OsString> {
        let mut args = self.arguments(source, effort.level);
        if effort.level == 0 {
            // Without this, -O0 marks every function as not to be inlined or optimised, for the
            // driver too.
            args.extend(["-Xclang", "-disable-O0-optnone"].map(OsString::from));
        }
        let typed = ir::has_typed_pointers(self.toolchain.clang.version.major);
        if source.language == Language::OpenClC {
            // Definitions of `inline` functions for calls that are not inlined (`ir::inline`).
            args.push("-fgnu89-inline".into());
        }
        if source.language == Language::CppForOpenCl && !typed {
            args.extend(["-Xclang", ir::CLASSES_WANTED].map(OsString::from));
        }
        args.extend(self.optimiser_arguments(effort));
        args.push("-cl-kernel-arg-info".into());
        args
    }

    /// Arguments that say what the optimiser may write, as LLVM IR.
    fn optimiser_arguments(&self, effort: Effort) -> Vec<OsString> {
        // The vectorisers' reductions and odd-width vectors are beyond the translator; drivers
        // vectorise over work-items.
        let mut args = vec!["-fno-vectorize", "-fno-slp-vectorize", "-mllvm", "-vectorize-slp=false"];
        // `pipeline` leaves this pass out, too, where `opt` runs its passes.
        args.extend(["-mllvm", "-disable-loop-idiom-all"]);
        if !ir::has_typed_pointers(self.toolchain.clang.version.major) {
            // It makes vectors of one number, which SPIR-V does not have, of single loads.
            args.extend(["-mllvm", "-disable-vector-combine"]);
        }
        if !effort.closed_forms {
            args.extend(["-mllvm", "-replexitval=never"]);
        }
        args.push("-emit-llvm");
        args.into_iter().map(OsString::from).collect()
    }

    /// The LLVM IR of a source with the places of its functions and instructions.
    pub(crate) fn ir_with_lines(&self, source: &Source, effort: Effort, ir: &Path) -> Result<Run> {
        let mut args = self.ir_arguments(source, effort);
        args.extend(["-S", "-gline-tables-only", "-w", "-o"].map(OsString::from));
        args.push(ir.into());
        self.run(args, source)
    }

    /// Mends the LLVM IR of a source and makes bitcode of it, the only form that the translator
    /// takes.
    fn bitcode(
        &self,
        source: &Source,
        effort: Effort,
        text: &Path,
        declarations: &Declarations,
    ) -> Result<(PathBuf, Vec<Leftover>)> {
        let mended = ir::mend(&String::from_utf8_lossy(&files::read(text)?));
        if effort.level == 0 && ir::constructs_by_tables(&mended.text) {
            let what = format!(
                "{}: without optimisation, objects with virtual base classes are constructed through tables of vtables, \
                 which devices do not have; compile with opt_level 1 or more",
                source.path.display()
            );
            return Err(Error::new(ErrorKind::Compile, what));
        }
        files::write(text, ir::share_inline(&mended.text, &declarations.inline).as_bytes())?;
        let bitcode = text.with_extension("bc");
        if !self.assemble(text, &bitcode)?.success {
            // Clang 15 writes text that it does not read back: casts of pointers to members,
            // virtual bases at -O0. As bitcode nobody checks it here, and the translator or
            // post-link know more of what is wrong, if it is.
            let mut args = self.ir_arguments(source, effort);
            args.extend(["-c".into(), "-o".into(), bitcode.clone().into()]);
            let run = self.run(args, source)?;
            if !run.success {
                let what = format!("{} does not compile to bitcode", source.path.display());
                return Err(run.failure(ErrorKind::Compile, &what));
            }
        }
        Ok((bitcode, mended.leftovers))
    }

    /// Whether the compiler declares a function of a name by itself.
    pub(crate) fn knows(&self, source: &Source, name: &str) -> Result<bool> {
        let probe = self.work.join("probe.cl");
        files::write(&probe, format!("void probe(void) {{ (void){name}; }}\n").as_bytes())?;
        let mut args = self.arguments(source, 0);
        args.extend(["-fsyntax-only".into(), probe.into()]);
        let run = command::run(&self.toolchain.clang.path, &args, &self.config.environment)?;
        Ok(!run.stderr.contains("undeclared identifier"))
    }

    /// Makes bitcode of LLVM IR.
    pub(crate) fn assemble(&self, text: &Path, bitcode: &Path) -> Result<Run> {
        // The passes ran already. Without a target, clang would put this machine's into the module.
        let fixed =
            ["-target", TARGET, "-x", "ir", "-emit-llvm", "-Xclang", "-disable-llvm-passes", "-w", "-c"];
        let mut args: Vec<OsString> = fixed.map(OsString::from).into();
        if ir::needs_typed_pointers_option(self.toolchain.clang.version.major) {
            args.extend(["-mllvm", "-opaque-pointers=0"].map(OsString::from));
        }
        args.extend(["-o".into(), bitcode.into(), text.into()]);
        command::run(&self.toolchain.clang.path, &args, &self.config.environment)
    }

    fn declarations(&self, source: &Source, opt_level: u32) -> Result<Declarations> {
        let mut args = self.arguments(source, opt_level);
        args.extend(["-fsyntax-only", "-w", "-Xclang", "-ast-dump=json"].map(OsString::from));
        let run = self.run(args, source)?;
        let what = format!("cannot read the declarations of {}", source.path.display());
        if !run.success {
            return Err(run.failure(ErrorKind::Declarations, &what));
        }
        let declarations =
            Declarations::parse(&run.stdout, &files::read(&source.path)?).map_err(|error| {
                let what = format!("{what} from clang's syntax tree (`{}`)", run.command_line);
                Error::new(ErrorKind::Declarations, what).with_source(error)
            })?;
        refuse_violations(source, &declarations)?;
        Ok(declarations)
    }

    /// What both runs of the compiler for devices have in common: all that the preprocessor sees,
    /// the optimisation level included.
    fn arguments(&self, source: &Source, opt_level: u32) -> Vec<OsString> {
        let mut args: Vec<OsString> = ["-target", TARGET, "-Xclang", "-finclude-default-header"]
            .iter()
            .chain(source.language.arguments())
            .map(OsString::from)
            .collect();
        if self.config.single_pass {
            args.push("-DOCLAVE_SINGLE_PASS=1".into());
        }
        // Clang's default leaves it to the driver, which then decides by what stands around an
        // expression.
        args.push(format!("-ffp-contract={}", if self.config.fp_contract { "on" } else { "off" }).into());
        args.extend(self.common_arguments(source, opt_level));
        args
    }

    /// What compilations for devices and for the host have in common.
    pub(crate) fn common_arguments(&self, source: &Source, opt_level: u32) -> Vec<OsString> {
        let mut args: Vec<OsString> = Vec::new();
        args.push(format!("-O{opt_level}").into());
        args.push(format!("-DOCLAVE_UNIT=\"{}\"", source.unit(self.config)).into());
        for (name, value) in &self.config.defines {
            let value = value.as_ref().map(|value| format!("={value}")).unwrap_or_default();
            args.push(format!("-D{name}{value}").into());
        }
        for include in &self.config.includes {
            args.extend(["-I".into(), include.into()]);
        }
        // As a system folder: its headers are no dependencies of the build script, they come with
        // this crate.
        args.extend(["-isystem".into(), self.headers.into()]);
        args.extend(self.config.extra_args.iter().cloned());
        args
    }

    fn run(&self, mut args: Vec<OsString>, source: &Source) -> Result<Run> {
        args.push(source.path.clone().into());
        command::run(&self.toolchain.clang.path, &args, &self.config.environment)
    }
}

/// The rules for device globals that the compiler does not know.
fn refuse_violations(source: &Source, declarations: &Declarations) -> Result<()> {
    if declarations.violations.is_empty() {
        return Ok(());
    }
    let lines: Vec<String> = declarations
        .violations
        .iter()
        .map(|violation| {
            let line = violation.line.map(|line| format!(":{line}")).unwrap_or_default();
            format!("{}{line}: `{}`: {}", source.path.display(), violation.name, violation.what)
        })
        .collect();
    Err(Error::new(ErrorKind::Compile, lines.join("\n")))
}

/// The error for a source that the compiler refuses.
fn refused(source: &Source, run: &Run) -> Error {
    run.failure(ErrorKind::Compile, &format!("{} does not compile for devices", source.path.display()))
}

/// The warnings, each with the notes that belong to it; the excerpts of the source are left out.
fn warnings(stderr: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in stderr.lines() {
        match found.last_mut().filter(|_| line.contains(": note: ")) {
            Some(last) => last.extend(["\n", line]),
            None if line.contains("warning: ") => found.push(line.to_owned()),
            None => {}
        }
    }
    found
}
