//! The error of the library: what kind, which OpenCL call, where, and what to do about it.

use std::fmt;
use std::sync::Arc;

/// Result with an [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, after the error codes of SYCL 2020 (section 4.13.2, `sycl::errc`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The arguments or the state do not allow the operation.
    Invalid,
    /// The driver failed, or there is no driver.
    Runtime,
    /// A kernel failed while it ran.
    Kernel,
    /// A host task returned an error or panicked.
    HostTask,
    /// A kernel argument has the wrong type, size or count.
    KernelArgument,
    /// A range, work-group size or offset is out of bounds.
    NdRange,
    /// An allocation failed.
    MemoryAllocation,
    /// A program did not compile or link; [`Error::build_log`] has the compiler's words.
    Build,
    /// The device lacks a feature that the operation needs.
    FeatureNotSupported,
    /// The device cannot run this kernel.
    KernelNotSupported,
    /// The platform or loader does not work.
    Platform,
    /// Profiling information was asked for and is not there.
    Profiling,
    /// A device image is malformed or was built by another version.
    Image,
    /// A file could not be read or written.
    Io,
}

impl ErrorKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Runtime => "runtime",
            Self::Kernel => "kernel",
            Self::HostTask => "host task",
            Self::KernelArgument => "kernel argument",
            Self::NdRange => "nd-range",
            Self::MemoryAllocation => "memory allocation",
            Self::Build => "build",
            Self::FeatureNotSupported => "feature not supported",
            Self::KernelNotSupported => "kernel not supported",
            Self::Platform => "platform",
            Self::Profiling => "profiling",
            Self::Image => "image",
            Self::Io => "io",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The result of every fallible function of the library.
///
/// `{}` prints one line: place, message, the OpenCL call with its code, the causes, and the remedy.
/// `{:#}` adds the build log. `{:?}` prints a line for each of these, and so does `main` for an error
/// that it returns. Reporters that print [`source`](std::error::Error::source) too print the causes
/// twice.
#[derive(Clone)]
pub struct Error(Box<Inner>);

/// The facts about an error that the library itself needs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    /// Of no consequence.
    Other,
    /// See [`Error::busy_in_task`].
    BusyInTask,
    /// See [`MakeError::of_dependent`].
    Dependency,
}

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    cause: Cause,
    message: String,
    /// From the outside in: `graph node 7`, `argument 1`.
    place: Vec<String>,
    call: Option<(&'static str, i32)>,
    remedy: Option<String>,
    build_log: Option<String>,
    /// Shared, so that threads which waited for one failing build can each return its error.
    source: Option<Arc<dyn std::error::Error + Send + Sync>>,
}

/// How the library makes errors. It is a trait so that the functions of [`Error`] are those that
/// users need: this crate's users import it, and `oclave` does not export it.
pub trait MakeError: Sized {
    /// An error of a kind with a message (lower case, no full stop).
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self;

    /// Shorthand for [`ErrorKind::Invalid`].
    fn invalid(message: impl Into<String>) -> Self;

    /// Something that must be there by construction and is not.
    fn bug(what: impl std::fmt::Display) -> Self;

    /// A failed OpenCL call. The kind follows from the code.
    fn cl(call: &'static str, code: i32) -> Self;

    /// Replaces the kind, where the place knows better than the code.
    fn with_kind(self, kind: ErrorKind) -> Self;

    /// Replaces the message.
    fn with_message(self, message: impl Into<String>) -> Self;

    /// Whether it is that of `Error::busy_in_task`.
    fn is_busy_in_task(&self) -> bool;

    /// The error of a command that does not run because one that it depends on failed with this. Of
    /// a chain of them the root stays the cause.
    fn of_dependent(&self) -> Self;

    /// Puts a place in front of those already known (`kernel `saxpy``, `argument 1 (`x`)`).
    fn at(self, place: impl Into<String>) -> Self;

    /// Puts other places in the place of those already known.
    fn map_places(self, map: impl Fn(String) -> String) -> Self;

    /// The remedy for users.
    fn remedy(self, remedy: impl Into<String>) -> Self;

    /// The compiler's or linker's words.
    fn with_build_log(self, log: impl Into<String>) -> Self;

    /// The error underneath.
    fn with_source(self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self;
}

impl MakeError for Error {
    #[cold]
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            cause: Cause::Other,
            message: message.into(),
            place: Vec::new(),
            call: None,
            remedy: None,
            build_log: None,
            source: None,
        }))
    }

    #[cold]
    fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    #[cold]
    fn bug(what: impl std::fmt::Display) -> Self {
        debug_assert!(false, "{what}");
        Self::new(ErrorKind::Runtime, format!("{what}")).remedy("this is a bug in oclave: please report it")
    }

    #[cold]
    fn cl(call: &'static str, code: i32) -> Self {
        let mut error = Self::new(kind_of_code(code), "the driver refused");
        error.0.call = Some((call, code));
        error
    }

    fn with_kind(mut self, kind: ErrorKind) -> Self {
        self.0.kind = kind;
        self
    }

    fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    fn is_busy_in_task(&self) -> bool {
        self.0.cause == Cause::BusyInTask
    }

    fn of_dependent(&self) -> Self {
        if self.0.cause == Cause::Dependency {
            return self.clone();
        }
        let mut error =
            Self::new(self.kind(), "a command that it depends on failed").with_source(self.clone());
        error.0.cause = Cause::Dependency;
        error
    }

    fn at(mut self, place: impl Into<String>) -> Self {
        self.0.place.insert(0, place.into());
        self
    }

    fn map_places(mut self, map: impl Fn(String) -> String) -> Self {
        self.0.place = self.0.place.into_iter().map(map).collect();
        self
    }

    fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    fn with_build_log(mut self, log: impl Into<String>) -> Self {
        self.0.build_log = Some(log.into());
        self
    }

    fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(Arc::from(source.into()));
        self
    }
}

impl Error {
    /// Memory is accessed by a host task: the command can be deferred until it no longer is.
    #[cold]
    pub(crate) fn busy_in_task() -> Self {
        let mut error = Self::invalid("the memory is being accessed by a host task");
        error.0.cause = Cause::BusyInTask;
        error.remedy("drop the guard of `read` or `write` first")
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The OpenCL function that failed.
    pub fn call(&self) -> Option<&'static str> {
        self.0.call.map(|(name, _)| name)
    }

    /// The raw OpenCL code.
    pub fn code(&self) -> Option<i32> {
        self.0.call.map(|(_, code)| code)
    }

    /// The code of this error or, where it has none, of the first of its causes that does.
    pub(crate) fn root_code(&self) -> Option<i32> {
        let mut error: Option<&(dyn std::error::Error + 'static)> = Some(self);
        while let Some(cause) = error {
            let code = cause.downcast_ref::<Self>().and_then(Self::code);
            if code.is_some() {
                return code;
            }
            error = cause.source();
        }
        None
    }

    /// The name of the code's constant (`CL_INVALID_VALUE`).
    pub fn code_name(&self) -> Option<&'static str> {
        self.code().map(code_name)
    }

    /// Where it happened, from the outside in.
    pub fn place(&self) -> &[String] {
        &self.0.place
    }

    /// The remedy.
    pub fn remedy_text(&self) -> Option<&str> {
        self.0.remedy.as_deref()
    }

    /// The words of the device compiler or linker, when a program did not build.
    pub fn build_log(&self) -> Option<&str> {
        self.0.build_log.as_deref()
    }
}

impl Error {
    /// Place, message and OpenCL call: what both forms of `Display` begin with.
    fn write_summary(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = &*self.0;
        for place in &inner.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&inner.message)?;
        if let Some((call, code)) = inner.call {
            write!(f, "; {call} returned {code} ({})", code_name(code))?;
        }
        Ok(())
    }

    /// The causes, from the outside in. Each is printed without its own causes. Those whose text the
    /// one before has already printed are left out.
    fn causes(&self) -> Vec<String> {
        let mut causes: Vec<String> = Vec::new();
        let mut source = std::error::Error::source(self);
        while let Some(error) = source {
            let text = match error.downcast_ref::<Self>() {
                Some(error) => error.without_causes(),
                None => error.to_string(),
            };
            if !causes.last().is_some_and(|last| last.contains(&text)) {
                causes.push(text);
            }
            source = error.source();
        }
        causes
    }

    fn without_causes(&self) -> String {
        struct Alone<'a>(&'a Error);
        impl fmt::Display for Alone<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.write_summary(f)?;
                self.0.write_remedy(f)
            }
        }
        Alone(self).to_string()
    }

    fn write_remedy(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.remedy.iter().try_for_each(|remedy| write!(f, "; {remedy}"))
    }

    fn trimmed_build_log(&self) -> Option<&str> {
        self.build_log().map(str::trim).filter(|log| !log.is_empty())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_summary(f)?;
        for cause in self.causes() {
            write!(f, "; caused by: {cause}")?;
        }
        if let Some(log) = self.trimmed_build_log().filter(|_| f.alternate()) {
            write!(f, "; build log: {log}")?;
        }
        self.write_remedy(f)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_summary(f)?;
        write!(f, "\n  kind: {}", self.kind())?;
        for cause in self.causes() {
            write!(f, "\n  caused by: {cause}")?;
        }
        if let Some(log) = self.trimmed_build_log() {
            f.write_str("\n  build log:")?;
            for line in log.lines() {
                write!(f, "\n    {line}")?;
            }
        }
        if let Some(remedy) = &self.0.remedy {
            write!(f, "\n  help: {remedy}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

impl From<oclave_spirv::Error> for Error {
    fn from(error: oclave_spirv::Error) -> Self {
        oclave_image::ImageError::from(error).into()
    }
}

impl From<oclave_image::ImageError> for Error {
    fn from(error: oclave_image::ImageError) -> Self {
        Self::new(ErrorKind::Image, "bad device image").with_source(error)
    }
}

fn kind_of_code(code: i32) -> ErrorKind {
    match code {
        -1001 | -32 | -1 => ErrorKind::Platform,
        // No compiler, no linker, an image format.
        -3 | -10 | -16 => ErrorKind::FeatureNotSupported,
        -4 | -6 => ErrorKind::MemoryAllocation,
        -7 => ErrorKind::Profiling,
        -11 | -15 | -17 => ErrorKind::Build,
        -52..=-49 => ErrorKind::KernelArgument,
        -56..=-53 | -63 => ErrorKind::NdRange,
        // The core's CL_INVALID_…, then those of command buffers.
        -13 | -18 | -48..=-30 | -62..=-57 | -72..=-64 | -1141..=-1138 => ErrorKind::Invalid,
        _ => ErrorKind::Runtime,
    }
}

/// Declares [`code_name`] from the constants of `opencl-sys`.
macro_rules! code_names {
    ($($name:ident)+) => {
        /// The name of an OpenCL code's constant, extensions included; `unknown code` for others.
        pub(crate) fn code_name(code: i32) -> &'static str {
            match code {
                $(opencl_sys::$name => stringify!($name),)+
                _ => "unknown code",
            }
        }
    };
}

code_names! {
    CL_SUCCESS CL_DEVICE_NOT_FOUND CL_DEVICE_NOT_AVAILABLE CL_COMPILER_NOT_AVAILABLE
    CL_MEM_OBJECT_ALLOCATION_FAILURE CL_OUT_OF_RESOURCES CL_OUT_OF_HOST_MEMORY
    CL_PROFILING_INFO_NOT_AVAILABLE CL_MEM_COPY_OVERLAP CL_IMAGE_FORMAT_MISMATCH
    CL_IMAGE_FORMAT_NOT_SUPPORTED CL_BUILD_PROGRAM_FAILURE CL_MAP_FAILURE
    CL_MISALIGNED_SUB_BUFFER_OFFSET CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST
    CL_COMPILE_PROGRAM_FAILURE CL_LINKER_NOT_AVAILABLE CL_LINK_PROGRAM_FAILURE
    CL_DEVICE_PARTITION_FAILED CL_KERNEL_ARG_INFO_NOT_AVAILABLE
    CL_INVALID_VALUE CL_INVALID_DEVICE_TYPE CL_INVALID_PLATFORM CL_INVALID_DEVICE CL_INVALID_CONTEXT
    CL_INVALID_QUEUE_PROPERTIES CL_INVALID_COMMAND_QUEUE CL_INVALID_HOST_PTR CL_INVALID_MEM_OBJECT
    CL_INVALID_IMAGE_FORMAT_DESCRIPTOR CL_INVALID_IMAGE_SIZE CL_INVALID_SAMPLER CL_INVALID_BINARY
    CL_INVALID_BUILD_OPTIONS CL_INVALID_PROGRAM CL_INVALID_PROGRAM_EXECUTABLE CL_INVALID_KERNEL_NAME
    CL_INVALID_KERNEL_DEFINITION CL_INVALID_KERNEL CL_INVALID_ARG_INDEX CL_INVALID_ARG_VALUE
    CL_INVALID_ARG_SIZE CL_INVALID_KERNEL_ARGS CL_INVALID_WORK_DIMENSION CL_INVALID_WORK_GROUP_SIZE
    CL_INVALID_WORK_ITEM_SIZE CL_INVALID_GLOBAL_OFFSET CL_INVALID_EVENT_WAIT_LIST CL_INVALID_EVENT
    CL_INVALID_OPERATION CL_INVALID_GL_OBJECT CL_INVALID_BUFFER_SIZE CL_INVALID_MIP_LEVEL
    CL_INVALID_GLOBAL_WORK_SIZE CL_INVALID_PROPERTY CL_INVALID_IMAGE_DESCRIPTOR
    CL_INVALID_COMPILER_OPTIONS CL_INVALID_LINKER_OPTIONS CL_INVALID_DEVICE_PARTITION_COUNT
    CL_INVALID_PIPE_SIZE CL_INVALID_DEVICE_QUEUE CL_INVALID_SPEC_ID CL_MAX_SIZE_RESTRICTION_EXCEEDED
    CL_PLATFORM_NOT_FOUND_KHR CL_CONTEXT_TERMINATED_KHR CL_INVALID_SEMAPHORE_KHR
    CL_INVALID_COMMAND_BUFFER_KHR CL_INVALID_SYNC_POINT_WAIT_LIST_KHR
    CL_INCOMPATIBLE_COMMAND_QUEUE_KHR CL_INVALID_MUTABLE_COMMAND_KHR
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_place_cause_call_and_remedy() {
        let error = Error::cl("clEnqueueNDRangeKernel", -54)
            .with_message("the work-group does not fit")
            .at("argument 1")
            .at("kernel `saxpy`")
            .remedy("use at most 64 work-items");
        assert_eq!(
            error.to_string(),
            "kernel `saxpy`: argument 1: the work-group does not fit; clEnqueueNDRangeKernel returned -54 \
             (CL_INVALID_WORK_GROUP_SIZE); use at most 64 work-items"
        );
        assert_eq!(
            format!("{error:?}"),
            "kernel `saxpy`: argument 1: the work-group does not fit; clEnqueueNDRangeKernel returned -54 \
             (CL_INVALID_WORK_GROUP_SIZE)\n  kind: nd-range\n  help: use at most 64 work-items"
        );
        assert_eq!(error.kind(), ErrorKind::NdRange);
        assert_eq!((error.call(), error.code()), (Some("clEnqueueNDRangeKernel"), Some(-54)));
        assert_eq!(error.place(), ["kernel `saxpy`", "argument 1"]);
        assert_eq!(error.remedy_text(), Some("use at most 64 work-items"));
    }

    #[test]
    fn build_logs_are_printed_unless_they_are_empty() {
        let error = Error::cl("clBuildProgram", -11).with_build_log(" \n");
        assert!(!format!("{error:#}{error:?}").contains("build log"), "{error:?}");
        let error = error.with_build_log("1:2: no such thing\n3:4: nor that\n");
        assert!(!error.to_string().contains("build log"), "{error}");
        assert!(format!("{error:#}").ends_with("build log: 1:2: no such thing\n3:4: nor that"), "{error:#}");
        assert!(
            format!("{error:?}").ends_with("build log:\n    1:2: no such thing\n    3:4: nor that"),
            "{error:?}"
        );
        assert_eq!(error.kind(), ErrorKind::Build);
    }

    #[test]
    fn causes_are_printed_once() {
        const DEPENDENT: &str = "a command that it depends on failed";
        let root = Error::invalid("the disk is full").at("host task").remedy("delete something");
        let error = root.of_dependent().of_dependent();
        let text = "host task: the disk is full; delete something";
        for printed in [error.to_string(), format!("{error:#}")] {
            assert_eq!(printed, format!("{DEPENDENT}; caused by: {text}"));
        }
        assert_eq!(format!("{error:?}"), format!("{DEPENDENT}\n  kind: invalid\n  caused by: {text}"));
    }

    #[test]
    fn every_cause_is_printed_and_none_twice() {
        // One that prints its own cause, as errors of others often do.
        #[derive(Debug)]
        struct Other(Error);
        impl fmt::Display for Other {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "the file is bad: {}", self.0)
            }
        }
        impl std::error::Error for Other {
            fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
                Some(&self.0)
            }
        }
        let root = Error::invalid("no room").with_source(std::io::Error::other("the disk is full"));
        let error = Error::new(ErrorKind::Io, "not written").with_source(Other(root)).remedy("try again");
        let text = "the file is bad: no room; caused by: the disk is full";
        assert_eq!(error.to_string(), format!("not written; caused by: {text}; try again"));
        assert_eq!(
            format!("{error:?}"),
            format!("not written\n  kind: io\n  caused by: {text}\n  help: try again")
        );
    }

    #[test]
    fn every_code_has_a_kind_and_a_name() {
        assert_eq!(kind_of_code(-1001), ErrorKind::Platform);
        assert_eq!(kind_of_code(-6), ErrorKind::MemoryAllocation);
        assert_eq!(kind_of_code(-51), ErrorKind::KernelArgument);
        assert_eq!(kind_of_code(-30), ErrorKind::Invalid);
        assert_eq!(kind_of_code(-1140), ErrorKind::Invalid);
        assert_eq!(kind_of_code(i32::MIN), ErrorKind::Runtime);
        assert_eq!(code_name(-1140), "CL_INCOMPATIBLE_COMMAND_QUEUE_KHR");
        assert_eq!(code_name(-1001), "CL_PLATFORM_NOT_FOUND_KHR");
        assert_eq!(code_name(-50), "CL_INVALID_ARG_VALUE");
        assert!((-19..=0).chain(-72..=-30).all(|code| code_name(code) != "unknown code"));
        assert_eq!(code_name(12345), "unknown code");
    }

    #[test]
    fn errors_cross_threads() {
        fn check<T: std::error::Error + Send + Sync + 'static>() {}
        check::<Error>();
    }
}
