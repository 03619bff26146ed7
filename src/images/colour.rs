//! Pixels as colours, which OpenCL fills images with.

use half::f16;

use crate::driver::{ChannelOrder, ChannelType, ImageFormat};

/// Red, green, blue and alpha of a pixel, each as the bits that a kernel would write: a float or an
/// integer. `None` if a driver may write other bytes for the colour.
pub(crate) fn colour(format: ImageFormat, pixel: &[u8]) -> Option<[u32; 4]> {
    let places: &[usize] = match format.order {
        ChannelOrder::R => &[0],
        ChannelOrder::Rg => &[0, 1],
        ChannelOrder::Rgba => &[0, 1, 2, 3],
        ChannelOrder::Bgra => &[2, 1, 0, 3],
        _ => return None,
    };
    let channels = pixel.chunks_exact(format.channel.bytes());
    if channels.len() != places.len() {
        return None;
    }
    let mut colour = [0; 4];
    for (bytes, place) in channels.zip(places) {
        *colour.get_mut(*place)? = channel(format.channel, bytes)?;
    }
    Some(colour)
}

fn channel(ty: ChannelType, bytes: &[u8]) -> Option<u32> {
    let float = |value: f32| (!value.is_nan()).then(|| value.to_bits());
    // The smallest number is read as -1.0, as the one behind it is.
    let snorm =
        |value: i16, most: i16| if value < -most { None } else { float(f32::from(value) / f32::from(most)) };
    match ty {
        ChannelType::Unorm8 => float(f32::from(read::<u8>(bytes)?) / f32::from(u8::MAX)),
        ChannelType::Unorm16 => float(f32::from(read::<u16>(bytes)?) / f32::from(u16::MAX)),
        ChannelType::Snorm8 => snorm(read::<i8>(bytes)?.into(), i8::MAX.into()),
        ChannelType::Snorm16 => snorm(read::<i16>(bytes)?, i16::MAX),
        ChannelType::I8 => Some(i32::from(read::<i8>(bytes)?).cast_unsigned()),
        ChannelType::I16 => Some(i32::from(read::<i16>(bytes)?).cast_unsigned()),
        ChannelType::I32 | ChannelType::U32 => read::<u32>(bytes),
        ChannelType::U8 => read::<u8>(bytes).map(u32::from),
        ChannelType::U16 => read::<u16>(bytes).map(u32::from),
        ChannelType::F16 => float(read::<f16>(bytes)?.to_f32()),
        ChannelType::F32 => float(read::<f32>(bytes)?),
        _ => None,
    }
}

fn read<T: bytemuck::Pod>(bytes: &[u8]) -> Option<T> {
    bytemuck::try_pod_read_unaligned(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_go_to_their_places() {
        let unorm = |order| ImageFormat::new(order, ChannelType::Unorm8);
        let bits = |values: [f32; 4]| Some(values.map(f32::to_bits));
        assert_eq!(colour(unorm(ChannelOrder::Rgba), &[255, 0, 51, 102]), bits([1.0, 0.0, 0.2, 0.4]));
        assert_eq!(colour(unorm(ChannelOrder::Bgra), &[255, 0, 51, 102]), bits([0.2, 0.0, 1.0, 0.4]));
        assert_eq!(colour(unorm(ChannelOrder::R), &[255]), bits([1.0, 0.0, 0.0, 0.0]));
        assert_eq!(colour(unorm(ChannelOrder::Srgba), &[1, 2, 3, 4]), None);
        assert_eq!(colour(unorm(ChannelOrder::R), &[255, 1]), None);
    }

    #[test]
    fn pixels_that_are_no_colour_are_left_to_copies() {
        let r = |channel| ImageFormat::new(ChannelOrder::R, channel);
        assert_eq!(colour(r(ChannelType::F32), &f32::NAN.to_ne_bytes()), None);
        assert_eq!(colour(r(ChannelType::Snorm8), &[0x80]), None);
        assert_eq!(colour(r(ChannelType::I8), &[0x80]).map(|[red, ..]| red), Some(0xffff_ff80));
        assert_eq!(colour(r(ChannelType::U32), &[1, 0, 0, 0]).map(|[red, ..]| red), Some(1));
    }
}
