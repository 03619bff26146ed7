//! The programs of `docs/guide`, compiled as doc tests.

macro_rules! pages {
    ($($page:ident = $path:literal),+ $(,)?) => {
        $(
            #[doc = include_str!(concat!("../docs/guide/", $path))]
            mod $page {}
        )+
    };
}

pages! {
    r#async = "async.md",
    buffers = "buffers.md",
    commands = "commands.md",
    control_flow = "control-flow.md",
    debugging_kernels = "debugging-kernels.md",
    device_globals = "device-globals.md",
    devices = "devices.md",
    errors = "errors.md",
    graphs = "graphs.md",
    host_tasks = "host-tasks.md",
    if_device = "if-device.md",
    images = "images.md",
    interop = "interop.md",
    interpreter = "interpreter.md",
    kernels = "kernels.md",
    memory = "memory.md",
    migration = "migration.md",
    optional_features = "optional-features.md",
    programs = "programs.md",
    rust_kernels = "rust-kernels.md",
    first_program = "first-program.md",
    tracing = "tracing.md",
    updating_graphs = "updating-graphs.md",
    virtual_functions = "virtual-functions.md",
    which_devices = "which-devices.md",
}
