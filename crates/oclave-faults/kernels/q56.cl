/*!
[config]
name: A packed struct in local memory
clc_version_min: 10

[test]
name: 8 work-items
kernel_name: q56
dimensions: 1
global_size: 8 0 0
local_size: 8 0 0
arg_out: 0 buffer int[8] 71302 72304 73306 74308 75310 76312 77314 70300
arg_in: 1 int 1000
!*/

typedef struct __attribute__((packed)) {
    char head;
    int value;
    short tail;
} Packed;

kernel void q56(global int *out, int a)
{
    local Packed shared[8];
    uint id = get_local_id(0), next = (id + 1) % 8;
    shared[id].head = (char)id;
    shared[id].value = a * (int)id + 70000;
    shared[id].tail = (short)(id + 300);
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = shared[next].head + shared[next].value + shared[next].tail;
}
