//! Virtual functions in kernels: objects, kernels that share them, what functions may do (VF-BAS,
//! VF-XKN, VF-MSC, VF-DEV).

use oclave::device::mask::Mask;
use oclave::kernel::{KernelCall, LaunchRange, Local, NdRange};
use oclave::memory::usm::Shared;
use oclave::{Buffer, Context, ErrorKind, Queue, UsmSlice};

use super::common::single;
use super::support::{output_of, speaks};

mod kernels {
    oclave::include_kernels!("scenarios");
}
use kernels::virtual_functions as vf;

/// What a kernel writes in a range of work-items.
#[track_caller]
fn ints<const N: usize>(
    queue: &Queue,
    range: impl LaunchRange,
    call: impl FnOnce(&UsmSlice<i32, Shared>) -> KernelCall,
) -> [i32; N] {
    let out = queue.context().alloc_shared::<i32>(N).unwrap();
    queue.parallel_for(range, call(&out)).unwrap().wait().unwrap();
    let found = out.read().unwrap();
    found[..].try_into().unwrap()
}

#[device_test]
fn vf_bas_001_the_class_is_chosen_by_an_argument(_context: Context, queue: Queue) {
    for (which, factor) in [(0, 1), (1, 2), (2, 3)] {
        assert_eq!(ints(&queue, 1, |out| vf::choose_class(which, out)), [factor]);
    }
}

#[device_test]
fn vf_bas_002_one_virtual_function_calls_another(_context: Context, queue: Queue) {
    assert_eq!(ints(&queue, 4, |out| vf::sum_levels(out)), [1001, 2010, 2100, 3020]);
}

#[device_test]
fn vf_bas_004_static_members(_context: Context, queue: Queue) {
    assert_eq!(ints(&queue, 3, |out| vf::use_statics(out)), [13, 73, 173]);
    // One that the host may change.
    queue.write(&vf::_ZN7STATICS4BASE5CALLS_E, &500_i32.to_ne_bytes()).unwrap();
    assert_eq!(ints(&queue, 3, |out| vf::use_statics(out)), [13, 73, 573]);
}

#[device_test]
fn vf_bas_005_members_own_and_inherited(context: Context, queue: Queue) {
    let memory = context.alloc_device::<i8>(32).unwrap();
    single(&queue, vf::open_accounts(&memory));
    assert_eq!(ints(&queue, 2, |out| vf::use_accounts(&memory, 100, out)), [300, 530]);
    assert_eq!(ints(&queue, 2, |out| vf::use_accounts(&memory, -300, out)), [0, 214]);
}

#[device_test]
fn vf_bas_007_functions_that_only_hosts_could_run(context: Context, queue: Queue) {
    let memory = context.alloc_device::<i8>(16).unwrap();
    single(&queue, vf::make_sensors(&memory));
    assert_eq!(ints(&queue, 2, |out| vf::use_sensors(&memory, out)), [5 + 3500, 6 + 4200]);
    // Its slot leads nowhere, and the next wait says so.
    let out = context.alloc_shared::<i32>(1).unwrap();
    out.write().unwrap()[0] = 1;
    let event = queue.single_task(vf::calibrate_sensor(&memory, &out)).unwrap();
    let error = event.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Kernel);
    assert!(format!("{error:#}").contains("calibrate_sensor"), "{error}");
    assert_eq!(*out.read().unwrap(), [0]);
}

#[device_test]
fn vf_bas_008_abstract_base_and_barriers(context: Context, queue: Queue) {
    let memory = context.alloc_device::<i8>(16).unwrap();
    single(&queue, vf::make_operations(&memory));
    let run = |which| -> [i32; 8] {
        ints(&queue, NdRange::new(8, 4), |out| vf::reduce(&memory, which, Local::new(4), out))
    };
    assert_eq!(run(0), [6, 6, 6, 6, 22, 22, 22, 22]);
    assert_eq!(run(1), [3, 0, 1, 2, 7, 4, 5, 6]);
}

/// A tool, a hammer and a saw of sizes 2, 3 and 4.
fn make_tools(queue: &Queue) -> UsmSlice<i8, oclave::memory::usm::DeviceOnly> {
    let memory = queue.context().alloc_device::<i8>(48).unwrap();
    queue.single_task(vf::make_tool(&memory, 0, 2)).unwrap();
    queue.single_task(vf::make_hammer(&memory, 1, 3)).unwrap();
    queue.single_task(vf::make_saw(&memory, 2, 4)).unwrap();
    queue.wait().unwrap();
    memory
}

const DESCRIBED: [i32; 3] = [20 + 20_000, 1 + 150 + 30_000, 2 + 40 + 80_000];

#[device_test]
fn vf_xkn_001_one_kernel_makes_and_one_uses(context: Context, queue: Queue) {
    let memory = context.alloc_shared::<i8>(16).unwrap();
    single(&queue, vf::make_hammer(&memory, 0, 3));
    assert_eq!(ints(&queue, 1, |out| vf::weigh(&memory, out)), [15]);
    // In a buffer, whose accesses order the kernels.
    let (object, out) = (Buffer::<i8>::new(16).unwrap(), Buffer::<i32>::new(1).unwrap());
    queue.single_task(vf::make_hammer(object.write(), 0, 4)).unwrap();
    queue.parallel_for(1, vf::weigh(object.read(), out.write())).unwrap();
    assert_eq!(*out.host_read().unwrap(), [20]);
}

#[device_test]
fn vf_xkn_002_each_user_calls_a_set_of_its_own(_context: Context, queue: Queue) {
    let memory = make_tools(&queue);
    assert_eq!(ints(&queue, 3, |out| vf::weigh(&memory, out)), [2, 15, 4]);
    assert_eq!(ints(&queue, 3, |out| vf::sell(&memory, out)), [20, 30, 80]);
    assert_eq!(ints(&queue, 3, |out| vf::sort_tools(&memory, out)), [0, 1, 2]);
}

#[device_test]
fn vf_xkn_003_several_kernels_make_and_one_uses(_context: Context, queue: Queue) {
    let memory = make_tools(&queue);
    assert_eq!(ints(&queue, 3, |out| vf::describe_tools(&memory, out)), DESCRIBED);
}

#[device_test]
fn vf_xkn_007_two_queues_use_an_object(context: Context, queue: Queue) {
    let other = Queue::builder(&context).out_of_order().build().unwrap();
    let memory = make_tools(&queue);
    let outs = [(); 8].map(|()| context.alloc_shared::<i32>(3).unwrap());
    for (i, out) in outs.iter().enumerate() {
        [&queue, &other][i % 2].parallel_for(3, vf::describe_tools(&memory, out)).unwrap();
    }
    queue.wait().unwrap();
    other.wait().unwrap();
    for out in &outs {
        assert_eq!(*out.read().unwrap(), DESCRIBED);
    }
}

#[device_test]
fn vf_xkn_008_objects_of_another_context(_context: Context, queue: Queue) {
    let memory = make_tools(&queue);
    let bytes = queue.read(&memory).unwrap();
    // The object names its class by a number that is the same everywhere: its bytes are an object
    // in any context.
    let elsewhere = Queue::new(&Context::new(queue.device()).unwrap()).unwrap();
    let copy = elsewhere.context().alloc_device::<i8>(48).unwrap();
    elsewhere.write(&copy, &bytes).unwrap();
    assert_eq!(ints(&elsewhere, 3, |out| vf::describe_tools(&copy, out)), DESCRIBED);
    // The memory itself stays where it was allocated.
    let out = elsewhere.context().alloc_shared::<i32>(3).unwrap();
    let error = elsewhere.parallel_for(3, vf::describe_tools(&memory, &out)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    // What is no object at all is found out.
    elsewhere.write(&copy, &[0; 48]).unwrap();
    let event = elsewhere.parallel_for(3, vf::weigh(&copy, &out)).unwrap();
    assert!(format!("{:#}", event.wait().unwrap_err()).contains("weigh"));
}

#[device_test]
fn vf_msc_001_the_same_call_in_all_work_items(_context: Context, queue: Queue) {
    let expected: [i32; 1000] = std::array::from_fn(|i| 3 * (i as i32 + 1));
    assert_eq!(ints(&queue, 1000, |out| vf::choose_class(2, out)), expected);
}

#[device_test]
fn vf_msc_003_mathematical_functions(context: Context, queue: Queue) {
    let x: Vec<f32> = (0..256).map(|i| (i as f32 - 128.0) / 16.0).collect();
    let values = context.alloc_shared::<f32>(x.len()).unwrap();
    let exact: [fn(f64) -> f64; 3] = [f64::sin, f64::exp, |x| x.abs().sqrt() + x.mul_add(2.0, x.floor())];
    for (which, exact) in (0..).zip(exact) {
        values.write().unwrap().copy_from_slice(&x);
        queue.parallel_for(x.len(), vf::use_waves(which, &values)).unwrap().wait().unwrap();
        for (&x, &found) in x.iter().zip(values.read().unwrap().iter()) {
            let wanted = exact(f64::from(x));
            // OpenCL allows 4 ulp for the worst of them; the sum of two terms may lose twice that
            // of the larger one.
            let scale = wanted.abs().max(if which == 2 { 32.0 } else { f64::from(f32::MIN_POSITIVE) });
            let error = (f64::from(found) - wanted).abs() / (scale * f64::from(f32::EPSILON));
            assert!(error <= 8.0, "function {which} of {x}: {found} instead of {wanted}, {error} ulp");
        }
    }
}

#[device_test]
fn vf_msc_005_printf_in_a_virtual_function(_context: Context, queue: Queue) {
    assert_eq!(ints(&queue, 1, |out| vf::speak(0, out)), [4711]);
    assert_eq!(ints(&queue, 1, |out| vf::speak(1, out)), [9422]);
    if speaks() {
        return;
    }
    let text = output_of("virtual_functions::vf_msc_005_printf_in_a_virtual_function");
    assert_eq!(text.matches("the printer says 4711").count(), 1, "{text}");
}

#[device_test]
fn vf_msc_006_recursion_ends_at_its_depth(context: Context, queue: Queue) {
    let memory = context.alloc_device::<i8>(64).unwrap();
    single(&queue, vf::make_links(&memory, 4));
    for last in 0..3 {
        assert_eq!(ints(&queue, 1, |out| vf::measure_links(&memory, last, out)), [last + 1]);
    }
    let out = context.alloc_shared::<i32>(1).unwrap();
    let event = queue.single_task(vf::measure_links(&memory, 3, &out)).unwrap();
    let error = event.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Kernel);
    assert!(
        format!("{error:#}").contains("`measure_links`") && format!("{error:#}").contains("deep"),
        "{error}"
    );
    // The queue goes on.
    assert_eq!(ints(&queue, 1, |out| vf::measure_links(&memory, 1, out)), [2]);
}

/// No device is asked for pointers to functions, nor for a generic address space.
#[device_test]
fn vf_dev_001_what_a_device_must_have(_context: Context, queue: Queue) {
    let device = queue.device().clone();
    assert_eq!(ints(&queue, 1, |out| vf::choose_class(1, out)), [2]);
    // The same without anything that newer drivers have.
    let poor =
        device.masked(Mask::SPIRV_1_3 | Mask::PROGRAM_SCOPE_VARIABLES | Mask::FP64 | Mask::GENERIC_POINTER);
    let queue = Queue::new(&Context::new(&poor).unwrap()).unwrap();
    let memory = make_tools(&queue);
    assert_eq!(ints(&queue, 3, |out| vf::describe_tools(&memory, out)), DESCRIBED);
}

/// Calls whose first argument is not a generic `this`.
#[device_test]
fn vf_bas_001_this_in_named_address_spaces(context: Context, queue: Queue) {
    let memory = context.alloc_device::<i8>(32).unwrap();
    single(&queue, vf::make_places(&memory));
    let found: [i32; 8] = {
        let out = context.alloc_shared::<i32>(8).unwrap();
        queue.parallel_for(2, vf::use_places(&memory, &out)).unwrap().wait().unwrap();
        let found = out.read().unwrap();
        found[..].try_into().unwrap()
    };
    assert_eq!(found, [101, 3 + 10, 1 + 40, 7, 2 - 100, 4 + 40, 4 + 80, 8]);
}
