//! `ptx sm_90 MODULE.spv`: prints the PTX of a module, linked with the installed library where it
//! needs it.

use oclave_ptx::{PtxTarget, translate_with_library};
use oclave_spirv::Module;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [target, path] = arguments.as_slice() else { return Err("usage: ptx sm_90 MODULE.spv".into()) };
    let target: PtxTarget = target.parse()?;
    let module = Module::from_bytes(&std::fs::read(path)?)?;
    print!("{}", translate_with_library(&module, &target)?);
    Ok(())
}
