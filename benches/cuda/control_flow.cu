// The reference of benches/control_flow.rs: a WHILE node whose body has the same kernels, instantiated once and launched. Prints
// `row,us`: the median of 9 launches for one of 10,000 iterations, each launch from cudaGraphLaunch to the end of
// cudaStreamSynchronize.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int ITERATIONS = 10000, ROUNDS = 9, MOST_ITEMS = 1024;

static void need(cudaError_t code) {
    if (code == cudaSuccess)
        return;
    fprintf(stderr, "%s\n", cudaGetErrorString(code));
    exit(1);
}

__global__ void bump(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        x[i] = x[i] + 1.0f;
}

__global__ void count(float *left, cudaGraphConditionalHandle condition) {
    *left = *left + 1.0f;
    cudaGraphSetConditional(condition, *left != 0.0f);
}

static void add(cudaGraphNode_t *node, cudaGraph_t graph, cudaGraphNodeParams *parameters) {
#if CUDART_VERSION >= 13000
    need(cudaGraphAddNode(node, graph, nullptr, nullptr, 0, parameters));
#else
    need(cudaGraphAddNode(node, graph, nullptr, 0, parameters));
#endif
}

static void measure(int items, int nodes, float *left, float *values, cudaStream_t stream) {
    cudaGraph_t graph;
    need(cudaGraphCreate(&graph, 0));
    cudaGraphConditionalHandle condition;
    need(cudaGraphConditionalHandleCreate(&condition, graph, 1, cudaGraphCondAssignDefault));
    cudaGraphNodeParams loop = {};
    loop.type = cudaGraphNodeTypeConditional;
    loop.conditional.handle = condition;
    loop.conditional.type = cudaGraphCondTypeWhile;
    loop.conditional.size = 1;
    cudaGraphNode_t node, before;
    add(&node, graph, &loop);
    cudaGraph_t body = loop.conditional.phGraph_out[0];
    for (int number = 0; number < nodes; number++) {
        void *of_bump[] = {&values, &items}, *of_count[] = {&left, &condition};
        bool is_last = number + 1 == nodes;
        int threads = is_last ? 1 : std::min(items, 256);
        cudaKernelNodeParams kernel = {};
        kernel.func = is_last ? (void *)count : (void *)bump;
        kernel.gridDim = dim3(is_last ? 1 : (items + threads - 1) / threads);
        kernel.blockDim = dim3(threads);
        kernel.kernelParams = is_last ? of_count : of_bump;
        need(cudaGraphAddKernelNode(&node, body, number ? &before : nullptr, number > 0, &kernel));
        before = node;
    }
    cudaGraphExec_t executable;
    need(cudaGraphInstantiate(&executable, graph, 0));
    need(cudaGraphUpload(executable, stream));
    std::vector<double> times;
    for (int round = -1; round < ROUNDS; round++) {
        float begin_value = -ITERATIONS;
        need(cudaMemcpyAsync(left, &begin_value, sizeof(float), cudaMemcpyHostToDevice, stream));
        need(cudaStreamSynchronize(stream));
        auto begin = std::chrono::steady_clock::now();
        need(cudaGraphLaunch(executable, stream));
        need(cudaStreamSynchronize(stream));
        std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
        if (round >= 0)
            times.push_back(time.count());
    }
    float now;
    need(cudaMemcpy(&now, left, sizeof(float), cudaMemcpyDeviceToHost));
    if (now != 0.0f)
        fprintf(stderr, "the loop ended at %f\n", now), exit(1);
    std::sort(times.begin(), times.end());
    printf("while_%d_%d,%.4f\n", items, nodes, times[ROUNDS / 2] / ITERATIONS);
    need(cudaGraphExecDestroy(executable));
    need(cudaGraphDestroy(graph));
}

int main() {
    float *left, *values;
    cudaStream_t stream;
    need(cudaMalloc(&left, sizeof(float)));
    need(cudaMalloc(&values, MOST_ITEMS * sizeof(float)));
    need(cudaMemset(values, 0, MOST_ITEMS * sizeof(float)));
    need(cudaStreamCreate(&stream));
    for (int items : {1, 256, MOST_ITEMS})
        for (int nodes : {1, 2, 10, 100})
            measure(items, nodes, left, values, stream);
    return 0;
}
