//! The file format of device images: bytes ⇄ [`DeviceImage`].
//!
//! All integers are little-endian. A 24-byte header, then sections back to back:
//!
//! | offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | magic, `"OCLIMG\r\n"` (a text-mode transfer breaks it visibly) |
//! | 8 | 4 | version of the format, [`FORMAT_VERSION`] |
//! | 12 | 4 | CRC-32 (IEEE) of everything from offset 16 |
//! | 16 | 8 | size of the file in bytes |
//!
//! A section has a tag of four letters, a `u32` of zero, the length of its bytes as a `u64`, and
//! the bytes. Zeros pad the bytes to a multiple of four. `NAME` is UTF-8, `SPRV` has the module's
//! words, `KERN` the signatures and `PROP` the property sets. Each of these occurs exactly once.
//! Readers skip unknown tags. One image has one encoding: equal images give equal bytes.

mod read;
mod signature;
mod write;

pub(crate) use signature::{scalar_number, scalar_of_number};

use read::Reader;
use write::Writer;

use crate::{DeviceImage, ImageError, PropertySets, PropertyValue, Result};

/// Version of the container format that this library writes, and the only one that it reads.
pub const FORMAT_VERSION: u32 = 2;

/// The extension of device-image files, without the dot.
pub const FILE_EXTENSION: &str = "oclimg";

const MAGIC: [u8; 8] = *b"OCLIMG\r\n";
const CHECKED_FROM: usize = 16;
const HEADER_BYTES: usize = 24;

impl DeviceImage {
    /// The image as the bytes of a file; equal images give equal bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut kernels = Writer::default();
        kernels.count(self.kernels.len());
        self.kernels.iter().for_each(|kernel| signature::write_kernel(&mut kernels, kernel));
        let mut properties = Writer::default();
        write_properties(&mut properties, &self.properties);

        let mut body = Writer::default();
        body.section(*b"NAME", self.name.as_bytes());
        body.section(*b"KERN", kernels.bytes());
        body.section(*b"PROP", properties.bytes());
        body.words_section(*b"SPRV", &self.spirv);

        let size = HEADER_BYTES as u64 + body.bytes().len() as u64;
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&size.to_le_bytes());
        checksum.update(body.bytes());
        let mut file = Writer::default();
        file.raw(&MAGIC);
        file.u32(FORMAT_VERSION);
        file.u32(checksum.finalize());
        file.u64(size);
        file.raw(body.bytes());
        file.into_bytes()
    }

    /// Reads what [`DeviceImage::to_bytes`] wrote. The SPIR-V words are taken as they are: what
    /// hands them to a driver checks them.
    ///
    /// # Errors
    /// [`ImageError::Version`] for another version of the format, [`ImageError::Container`] with
    /// the offset of the bad field for anything else that is wrong.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let (mut reader, checksum) = open(bytes)?;
        if crc32fast::hash(bytes.get(CHECKED_FROM..).unwrap_or_default()) != checksum {
            return Err(bad(12, "the checksum does not match; the file is damaged, rebuild it"));
        }
        read_sections(&mut reader)
    }

    /// The names of the kernels of an image, and nothing else: a glance that costs little, whatever
    /// the image holds. The checksum is not looked at.
    ///
    /// # Errors
    /// As [`DeviceImage::from_bytes`], for what is wrong up to the kernels.
    pub fn kernel_names(bytes: &[u8]) -> Result<Vec<String>> {
        let (mut reader, _) = open(bytes)?;
        while !reader.is_empty() {
            let (tag, mut section) = reader.section()?;
            if tag == *b"KERN" {
                return section.list("kernel", |reader| Ok(signature::read_kernel(reader)?.name));
            }
        }
        Err(bad(reader.offset(), "section KERN is missing"))
    }
}

/// Reads the header, and gives the checksum.
fn open(bytes: &[u8]) -> Result<(Reader<'_>, u32)> {
    let mut reader = Reader::new(bytes, 0);
    if reader.raw(MAGIC.len(), "magic number")? != MAGIC {
        return Err(bad(0, "these bytes are no device image (wrong magic number)"));
    }
    let found = reader.u32("version")?;
    if found != FORMAT_VERSION {
        return Err(ImageError::Version { found, supported: FORMAT_VERSION });
    }
    let checksum = reader.u32("checksum")?;
    let size = reader.u64("size")?;
    if size != bytes.len() as u64 {
        let what =
            format!("the header says {size} bytes, but there are {}; the file is truncated", bytes.len());
        return Err(bad(CHECKED_FROM, what));
    }
    Ok((reader, checksum))
}

fn read_sections(reader: &mut Reader<'_>) -> Result<DeviceImage> {
    let (mut name, mut kernels, mut properties, mut spirv) = (None, None, None, None);
    while !reader.is_empty() {
        let at = reader.offset();
        let (tag, mut section) = reader.section()?;
        let twice = match &tag {
            b"NAME" => name.replace(section.rest_as_text("image name")?).is_some(),
            b"KERN" => kernels.replace(section.list("kernel", signature::read_kernel)?).is_some(),
            b"PROP" => properties.replace(read_properties(&mut section)?).is_some(),
            b"SPRV" => spirv.replace(section.rest_as_words()?).is_some(),
            _ => {
                section.skip_rest();
                false
            }
        };
        if twice {
            return Err(bad(at, format!("section {} stands twice", tag.escape_ascii())));
        }
        section.finish(&format!("section {}", tag.escape_ascii()))?;
    }
    let missing = |tag: &str| bad(reader.offset(), format!("section {tag} is missing"));
    Ok(DeviceImage {
        name: name.ok_or_else(|| missing("NAME"))?,
        spirv: spirv.ok_or_else(|| missing("SPRV"))?,
        kernels: kernels.ok_or_else(|| missing("KERN"))?,
        properties: properties.ok_or_else(|| missing("PROP"))?,
    })
}

const PROPERTY_U32: u8 = 1;
const PROPERTY_BYTES: u8 = 2;

fn write_properties(out: &mut Writer, properties: &PropertySets) {
    out.count(properties.set_names().count());
    for set in properties.set_names() {
        out.text(set);
        out.count(properties.set(set).count());
        for (name, value) in properties.set(set) {
            out.text(name);
            match value {
                PropertyValue::U32(value) => {
                    out.u8(PROPERTY_U32);
                    out.u32(*value);
                }
                PropertyValue::Bytes(value) => {
                    out.u8(PROPERTY_BYTES);
                    out.count(value.len());
                    out.raw(value);
                }
            }
        }
    }
}

fn read_properties(reader: &mut Reader<'_>) -> Result<PropertySets> {
    let mut properties = PropertySets::default();
    for _ in 0..reader.count("property set")? {
        let set = reader.text("name of a property set")?;
        for _ in 0..reader.count("property")? {
            let at = reader.offset();
            let name = reader.text("name of a property")?;
            if properties.value(&set, &name).is_some() {
                return Err(bad(at, format!("property \"{name}\" of set \"{set}\" stands twice")));
            }
            let value = match reader.u8("kind of a property")? {
                PROPERTY_U32 => PropertyValue::U32(reader.u32("value of a property")?),
                PROPERTY_BYTES => {
                    let length = reader.count("byte of a property")?;
                    PropertyValue::Bytes(reader.raw(length, "value of a property")?.to_vec())
                }
                kind => {
                    return Err(bad(at, format!("property \"{name}\" of set \"{set}\" has the kind {kind}")));
                }
            };
            properties.insert(&set, &name, value);
        }
    }
    Ok(properties)
}

fn bad(offset: usize, what: impl Into<String>) -> ImageError {
    ImageError::Container { offset, what: what.into() }
}
