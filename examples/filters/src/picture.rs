//! Pictures in and out: PNG and PNM files.

use std::error::Error;
use std::path::Path;

use image::{GrayImage, ImageReader};

/// An RGB picture, three bytes a pixel, row by row.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) width: usize,
    pub(crate) height: usize,
    pub(crate) rgb: Vec<u8>,
}

impl Picture {
    /// Reads a PNG or PNM file, whatever its name says.
    pub(crate) fn read(path: &Path) -> Result<Self, Box<dyn Error>> {
        let said = |error: &dyn Error| format!("cannot read the picture {}: {error}", path.display());
        let reader =
            ImageReader::open(path).and_then(ImageReader::with_guessed_format).map_err(|e| said(&e))?;
        let rgb = reader.decode().map_err(|e| said(&e))?.into_rgb8();
        let (width, height) = (rgb.width() as usize, rgb.height() as usize);
        if width == 0 || height == 0 {
            return Err(format!("the picture {} has no pixels", path.display()).into());
        }
        Ok(Self { width, height, rgb: rgb.into_raw() })
    }
}

/// Writes one byte a pixel as a grey PNG.
pub(crate) fn write_gray(path: &Path, pixels: &[u8], width: usize) -> Result<(), Box<dyn Error>> {
    let height = pixels.len() / width;
    GrayImage::from_raw(width as u32, height as u32, pixels.to_vec())
        .ok_or_else(|| format!("{} bytes are no picture of width {width}", pixels.len()))?
        .save(path)
        .map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}
