//! Lowers kernels from LLVM IR that `rustc --emit=llvm-ir` wrote: `lower OUT.spv IN.ll…`.

use std::error::Error;

use oclave_rust::{Text, compile};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().ok_or("usage: lower OUT.spv IN.ll…")?;
    let names: Vec<String> = arguments.collect();
    let texts = names.iter().map(std::fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let texts: Vec<Text<'_>> =
        names.iter().zip(&texts).map(|(name, ir)| Text { name: name.as_str(), ir: ir.as_str() }).collect();
    let compiled = compile(&texts)?;
    std::fs::write(out, compiled.module.to_bytes())?;
    for kernel in &compiled.kernels {
        println!("{}: {kernel:#?}", kernel.name);
    }
    for (number, site) in compiled.panics.iter().enumerate() {
        let place = site.place.as_ref().map(ToString::to_string).unwrap_or_default();
        println!("panic {}: {} at {place}", number + 1, site.message);
    }
    oclave_spirv::check::check(&compiled.module)?;
    Ok(())
}
