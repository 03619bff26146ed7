//! `oclave faults`.

use std::io::Write;

use oclave::Device;
use oclave_faults::{FAULTS, FaultSet, Row};
use serde_json::{Value, json};

use crate::{Failure, columns};

/// The form of the output.
#[derive(Clone, Copy)]
pub(crate) enum Form {
    Table,
    Json,
    Markdown,
}

/// Prints the rows of all faults, or of those that a device has.
pub(crate) fn print(out: &mut impl Write, device: Option<usize>, form: Form) -> Result<(), Failure> {
    let faults = match device {
        Some(number) => of_device(number)?,
        None => FaultSet::all(),
    };
    let rows: Vec<&Row> = FAULTS.iter().filter(|row| faults.has(row.fault)).collect();
    match form {
        Form::Table => table(out, &rows),
        Form::Json => {
            let all: Value = rows.iter().map(|row| value(row)).collect();
            writeln!(out, "{all:#}")?;
            Ok(())
        }
        Form::Markdown => markdown(out, &rows),
    }
}

/// The faults of a device, by its number, or those that words as in `OCLAVE_FAULTS` name.
pub(crate) fn named(words: &str) -> Result<FaultSet, Failure> {
    match words.parse() {
        Ok(number) => of_device(number),
        Err(_) => FaultSet::NONE.adjust(words).map_err(|error| Failure::Message(error.to_string())),
    }
}

fn of_device(number: usize) -> Result<FaultSet, Failure> {
    let devices = Device::all()?;
    let device = devices.get(number).ok_or_else(|| {
        let count = devices.len();
        Failure::Message(format!("there is no device {number}: `oclave devices` lists {count}, from 0 on"))
    })?;
    Ok(device.driver_faults())
}

fn drivers(row: &Row) -> String {
    let names: Vec<String> = row.affects.iter().map(ToString::to_string).collect();
    names.join("; ")
}

fn table(out: &mut impl Write, rows: &[&Row]) -> Result<(), Failure> {
    let mut cells =
        vec![["fault", "drivers", "seen in", "symptom", "work-around"].map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(|row| {
        let texts = [&row.fault.to_string(), &drivers(row), &row.seen.to_string(), row.symptom, row.remedy];
        texts.map(str::to_owned).to_vec()
    }));
    columns::print(out, &cells)?;
    Ok(())
}

fn value(row: &Row) -> Value {
    json!({
        "fault": row.fault.to_string(),
        "drivers": row.affects.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "seen": row.seen.to_string(),
        "symptom": row.symptom,
        "workaround": row.remedy,
        "upstream": row.upstream,
    })
}

fn markdown(out: &mut impl Write, rows: &[&Row]) -> Result<(), Failure> {
    writeln!(
        out,
        "# Faults of drivers\n\n\
         `oclave faults --markdown` prints this page from the table in `crates/oclave-faults`. A version that is newer than the\n\
         newest one seen is treated like it. `OCLAVE_FAULTS` switches faults off and on: `-Q45,+Q16`, `none`, `all`.\n\n\
         | fault | drivers | seen in | symptom | work-around | upstream |\n|---|---|---|---|---|---|"
    )?;
    for row in rows {
        let (fault, drivers, upstream) = (row.fault, drivers(row), row.upstream.join(", "));
        let (seen, symptom, remedy) = (row.seen, row.symptom, row.remedy);
        writeln!(out, "| {fault} | {drivers} | {seen} | {symptom} | {remedy} | {upstream} |")?;
    }
    Ok(())
}
