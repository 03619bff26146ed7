//! RK: vectors and halves in kernels in Rust.

use oclave::device::Aspects;
use oclave::half::f16 as HostHalf;
use oclave::kernel::{Local, NdRange};
use oclave::vector::{
    Float3, Float4, Half2, Half4, Long16, Short4, Uchar2, Uchar4, Uchar16, Uint2, Uint4, Uint8,
};
use oclave::{Context, ErrorKind, Queue};
use oclave_kernel::{HostRange, Vec2, Vec3, Vec4, Vec8, Vec16, f16};

use super::rust_support::on_device::vectors as kernels;
use super::rust_support::{memory, numbers, run, setting, vectors};

/// Numbers from -50 to 50.
fn floats<const N: usize>(count: usize) -> Vec<[f32; N]> {
    let random = numbers(count * N);
    random.chunks(N).map(|part| std::array::from_fn(|at| part[at] as f32 / 10.0 - 50.0)).collect()
}

#[device_test(setting)]
fn rk_vec_001_vectors_by_value((_, queue): (Context, Queue)) {
    let (a, b, c) = ([7, 250], [1.0, 2.0, 3.0], [-1, 20, 300, -400]);
    let (d, e) = ([1, 2, 3, 4, 5, 6, 7, 8], std::array::from_fn(|at| (at as i64 - 3) << 25));
    let out = memory::<[i64; 6]>(&queue, 3);
    let call = kernels::by_value(
        Uchar2::new(a),
        Float3::new(b),
        Short4::new(c),
        Uint8::new(d),
        Long16::new(e),
        HostHalf::from_f32(-2048.0),
        &out,
    );
    run(&queue, 3, call);
    let mut wanted = vec![[0; 6]; 3];
    let (a, b, c, d, e) = (Vec2::from(a), Vec3::from(b), Vec4::from(c), Vec8::from(d), Vec16::from(e));
    vectors::by_value::run_on_host(HostRange::new([3]), a, b, c, d, e, f16::from_f32(-2048.0), &mut wanted);
    assert_eq!(wanted[0][1], 10203);
    assert_eq!(wanted[0][5], -2048);
    assert_eq!(queue.read(&out).unwrap(), wanted);
}

#[device_test(setting)]
fn rk_vec_002_vectors_in_memory((_, queue): (Context, Queue)) {
    const N: usize = 64;
    let (x, y) = (floats::<4>(N), floats::<3>(N));
    let bytes: Vec<[u8; 16]> =
        numbers(16 * N).chunks(16).map(|part| std::array::from_fn(|at| part[at] as u8)).collect();
    let given = queue.upload(&x.iter().copied().map(Float4::new).collect::<Vec<_>>()).unwrap();
    let changed = queue.upload(&y.iter().copied().map(Float3::new).collect::<Vec<_>>()).unwrap();
    let of_bytes = queue.upload(&bytes.iter().copied().map(Uchar16::new).collect::<Vec<_>>()).unwrap();
    let out = memory::<Float4>(&queue, N);
    let call = kernels::in_memory(&given, &changed, Local::new(16), &of_bytes, &out);
    run(&queue, NdRange::new(N, 16), call);

    let x: Vec<Vec4<f32>> = x.into_iter().map(Vec4::from).collect();
    let mut y: Vec<Vec3<f32>> = y.into_iter().map(Vec3::from).collect();
    let bytes: Vec<Vec16<u8>> = bytes.into_iter().map(Vec16::from).collect();
    let mut wanted = vec![Vec4::default(); N];
    let range = HostRange::with_groups([N], [16]);
    vectors::in_memory::run_on_host(range, &x, &mut y, 16, &bytes, &mut wanted);
    let found: Vec<Vec4<f32>> = queue.read(&out).unwrap().iter().map(|v| Vec4::from(*v.lanes())).collect();
    assert_eq!(found, wanted);
    let found: Vec<Vec3<f32>> =
        queue.read(&changed).unwrap().iter().map(|v| Vec3::from(*v.lanes())).collect();
    assert_eq!(found, y);
}

#[device_test(setting)]
fn rk_vec_003_operators_of_integers((_, queue): (Context, Queue)) {
    let x: Vec<[u32; 4]> = numbers(200)
        .chunks(4)
        .map(|part| std::array::from_fn(|at| part[at].wrapping_mul(4_000_037)))
        .collect();
    let x: Vec<[u32; 4]> = x.into_iter().map(|x| x.map(|x| x % 900_000)).collect();
    let by = [3, 500, 70_000, 11];
    let given = queue.upload(&x.iter().copied().map(Uint4::new).collect::<Vec<_>>()).unwrap();
    let out = memory::<[Uint4; 5]>(&queue, 50);
    run(&queue, 50, kernels::integers(&given, Uint4::new(by), &out));
    let x: Vec<Vec4<u32>> = x.into_iter().map(Vec4::from).collect();
    let mut wanted = vec![[Vec4::splat(0); 5]; 50];
    vectors::integers::run_on_host(HostRange::new([50]), &x, Vec4::from(by), &mut wanted);
    for (found, wanted) in queue.read(&out).unwrap().iter().zip(wanted) {
        assert_eq!(found.map(|v| *v.lanes()), wanted.map(Vec4::to_array));
    }
}

#[device_test(setting)]
fn rk_vec_004_structs_with_vectors((_, queue): (Context, Queue)) {
    let place = floats::<3>(40);
    let speed = floats::<4>(40);
    let own: Vec<vectors::Particle> = (0..40)
        .map(|n: usize| vectors::Particle {
            place: Vec3::from(place[n]),
            speed: Vec4::from(speed[n]),
            kinds: Vec2::new(n as u32, 7),
            colour: Vec4::splat(n as u8 * 6),
            weight: Vec2::new(f16::from_f32(0.25), f16::from_f32(n as f32 / 3.0)),
        })
        .collect();
    let half = |x: f16| HostHalf::from_bits(x.to_bits());
    let theirs = |p: &vectors::Particle| {
        kernels::Particle::new(
            Float3::new(p.place.to_array()),
            Float4::new(p.speed.to_array()),
            Uint2::new(p.kinds.to_array()),
            Uchar4::new(p.colour.to_array()),
            Half2::new(p.weight.to_array().map(half)),
        )
    };
    let all = queue.upload(&own.iter().map(theirs).collect::<Vec<_>>()).unwrap();
    run(&queue, 40, kernels::particles(0.5, theirs(&own[39]), &all));
    let mut wanted = own.clone();
    vectors::particles::run_on_host(HostRange::new([40]), 0.5, own[39], &mut wanted);
    assert_ne!(wanted, own);
    assert_eq!(queue.read(&all).unwrap(), wanted.iter().map(theirs).collect::<Vec<_>>());

    queue.write(&kernels::CENTRE, &Float3::new([100.0, 0.0, 0.0])).unwrap();
    run(&queue, 40, kernels::particles(0.0, theirs(&own[39]), &all));
    let centre = Vec3::new(100.0, 0.0, 0.0);
    let wanted: Vec<[f32; 3]> = wanted
        .iter()
        .map(|p| (p.place + p.speed.xyz() * 0.0 + (centre - p.place) * 0.25).to_array())
        .collect();
    let found: Vec<[f32; 3]> = queue.read(&all).unwrap().iter().map(|p| *p.place.lanes()).collect();
    assert_eq!(found, wanted);
}

#[device_test(setting)]
fn rk_vec_005_lengths_and_products((_, queue): (Context, Queue)) {
    let x = floats::<3>(60);
    let given = queue.upload(&x.iter().copied().map(Float3::new).collect::<Vec<_>>()).unwrap();
    let out = memory::<Float4>(&queue, 60);
    run(&queue, 60, kernels::geometry(&given, &out));
    let x: Vec<Vec3<f32>> = x.into_iter().map(Vec3::from).collect();
    let mut wanted = vec![Vec4::default(); 60];
    vectors::geometry::run_on_host(HostRange::new([60]), &x, &mut wanted);
    // Devices may round square roots and divisions less exactly.
    for (found, wanted) in queue.read(&out).unwrap().iter().zip(&wanted) {
        for (found, wanted) in found.lanes().iter().zip(wanted.to_array()) {
            assert!((found - wanted).abs() <= 1e-5 * wanted.abs().max(1.0), "{found} is not {wanted}");
        }
    }
}

#[device_test(setting)]
fn rk_hlf_001_all_halves((_, queue): (Context, Queue)) {
    let x: Vec<HostHalf> = (0..=u16::MAX).map(HostHalf::from_bits).collect();
    // Floats around each half and each border between two, and others.
    let y: Vec<f32> = (0..=u16::MAX)
        .map(|bits| {
            let near = HostHalf::from_bits(bits).to_f32();
            let next = HostHalf::from_bits(bits ^ 1).to_f32();
            match bits % 5 {
                0 => near,
                1 => near + (next - near) / 2.0,
                2 => f32::from_bits((near + (next - near) / 2.0).to_bits() + 1),
                3 => f32::from_bits((near + (next - near) / 2.0).to_bits().saturating_sub(1)),
                _ => f32::from_bits(u32::from(bits).wrapping_mul(0x9e37_79b9)),
            }
        })
        .collect();
    let count = x.len();
    let (given, floats) = (queue.upload(&x).unwrap(), queue.upload(&y).unwrap());
    let (wide, narrow) = (memory::<f32>(&queue, count), memory::<HostHalf>(&queue, count));
    run(&queue, count, kernels::halves(&given, &floats, &wide, &narrow));
    let (wide, narrow) = (queue.read(&wide).unwrap(), queue.read(&narrow).unwrap());

    let own: Vec<f16> = (0..=u16::MAX).map(f16::from_bits).collect();
    let (mut own_wide, mut own_narrow) = (vec![0.0; count], vec![f16::ZERO; count]);
    vectors::halves::run_on_host(HostRange::new([count]), &own, &y, &mut own_wide, &mut own_narrow);
    for at in 0..count {
        let (wanted, of) = (x[at].to_f32(), x[at]);
        let is_equal = |found: f32| found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan();
        assert!(is_equal(own_wide[at]), "on the host, {of:?} is {}", own_wide[at]);
        assert!(is_equal(wide[at]), "{of:?} is {}", wide[at]);
        let (wanted, of) = (HostHalf::from_f32(y[at]), y[at]);
        let is_equal =
            |found: u16| found == wanted.to_bits() || wanted.is_nan() && f16::from_bits(found).is_nan();
        assert!(
            is_equal(own_narrow[at].to_bits()),
            "on the host, {of:e} is {} and not {wanted}",
            own_narrow[at]
        );
        // Devices may take the least floats for 0, which are 0 as halves, too.
        assert!(is_equal(narrow[at].to_bits()), "{of:e} is {} and not {wanted}", narrow[at]);
    }
}

#[device_test(setting)]
fn rk_hlf_002_arithmetic_of_halves((context, queue): (Context, Queue)) {
    let x = floats::<4>(50);
    let x: Vec<[HostHalf; 4]> = x.into_iter().map(|x| x.map(HostHalf::from_f32)).collect();
    let given = queue.upload(&x.iter().copied().map(Half4::new).collect::<Vec<_>>()).unwrap();
    let out = memory::<Half4>(&queue, 50);
    let call = kernels::half_arithmetic(&given, HostHalf::from_f32(1.5), &out);
    let own: Vec<Vec4<f16>> =
        x.into_iter().map(|x| Vec4::from(x.map(|x| f16::from_bits(x.to_bits())))).collect();
    let mut wanted = vec![Vec4::splat(f16::ZERO); 50];
    vectors::half_arithmetic::run_on_host(HostRange::new([50]), &own, f16::from_f32(1.5), &mut wanted);
    assert!(wanted.iter().all(|v| v.to_array().iter().any(|x| *x != f16::ZERO)));
    if !context.device().capabilities().aspects.contains(Aspects::FP16) {
        let error = queue.parallel_for(50, call).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
        assert!(error.to_string().contains("fp16"), "{error}");
        return;
    }
    run(&queue, 50, call);
    for (found, wanted) in queue.read(&out).unwrap().iter().zip(&wanted) {
        for (found, wanted) in found.lanes().iter().zip(wanted.to_array()) {
            let (found, wanted) = (found.to_f32(), wanted.to_f32());
            // Devices may round divisions less exactly.
            assert!(
                found == wanted || (found - wanted).abs() <= 2e-3 * wanted.abs(),
                "{found} is not {wanted}"
            );
        }
    }
}
