// The reference of benches/graph_nodes.rs: the same nodes as a CUDA graph, instantiated once and launched. Prints `row,us`:
// the median of 31 launches, each from cudaGraphLaunch to the end of cudaStreamSynchronize.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

constexpr int NODES = 1000, LAYER = 10, WIDE_LAYER = 100, FLOATS = 1024, ROUNDS = 31;

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

static void measure(const std::string &shape, int items, float *memory, cudaStream_t stream) {
    cudaGraph_t graph;
    need(cudaGraphCreate(&graph, 0));
    std::vector<cudaGraphNode_t> nodes(NODES);
    for (int node = 0; node < NODES; node++) {
        int array = 0, first = 0, count = 0;
        if (shape == "chain") {
            first = node - 1;
            count = node > 0;
        } else if (shape == "independent") {
            array = node;
        } else {
            int layer = shape == "layers" ? LAYER : WIDE_LAYER;
            array = node % layer;
            first = node / layer * layer - layer;
            count = first >= 0 ? layer : 0;
        }
        float *x = memory + (size_t)array * FLOATS;
        void *arguments[] = {&x, &items};
        int threads = std::min(items, 256);
        cudaKernelNodeParams kernel = {};
        kernel.func = (void *)bump;
        kernel.gridDim = dim3((items + threads - 1) / threads);
        kernel.blockDim = dim3(threads);
        kernel.kernelParams = arguments;
        need(cudaGraphAddKernelNode(&nodes[node], graph, count ? &nodes[first] : nullptr, count, &kernel));
    }
    cudaGraphExec_t executable;
    need(cudaGraphInstantiate(&executable, graph, 0));
    need(cudaGraphUpload(executable, stream));
    std::vector<double> times;
    for (int round = -10; round < ROUNDS; round++) {
        auto begin = std::chrono::steady_clock::now();
        need(cudaGraphLaunch(executable, stream));
        need(cudaStreamSynchronize(stream));
        std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
        if (round >= 0)
            times.push_back(time.count());
    }
    std::sort(times.begin(), times.end());
    printf("%s_%d,%.1f\n", shape.c_str(), items, times[ROUNDS / 2]);
    need(cudaGraphExecDestroy(executable));
    need(cudaGraphDestroy(graph));
}

int main() {
    float *memory;
    cudaStream_t stream;
    need(cudaMalloc(&memory, (size_t)NODES * FLOATS * sizeof(float)));
    need(cudaMemset(memory, 0, (size_t)NODES * FLOATS * sizeof(float)));
    need(cudaStreamCreate(&stream));
    for (const char *shape : {"chain", "independent", "layers", "wide_layers"})
        for (int items : {1, 64, 256, 1024})
            measure(shape, items, memory, stream);
    return 0;
}
