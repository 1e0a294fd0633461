// SPDX-License-Identifier: BSD-3-Clause
// Graphs that kernels may launch: a kernel gets the handle that the program has, which the host can
// use as any other.
#include "tests/programs/graph_calls.h"

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry keep(.param .u64 to, .param .u64 what) {\n"
    " .reg .u64 %d<4>; ld.param.u64 %d1,[to]; cvta.to.global.u64 %d2,%d1; ld.param.u64 %d3,[what];\n"
    " st.global.u64 [%d2],%d3; ret; }\n";

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUdeviceptr data = device_alloc(4), kept = device_alloc(8);
    CUfunction add = kernel(&gpu, "add"), keep;
    CUmodule module;
    CUstream stream;
    CUgraphExec exec;
    unsigned one = 1, three = 3;
    uint64_t seen = 0;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CHECK(cuModuleLoadData(&module, text));
    CHECK(cuModuleGetFunction(&keep, module, "keep"));
    CHECK(cuMemsetD32(data, 0, 1));
    CUgraph graph = new_graph();
    CUgraphNode node = add_kernel(graph, NULL, 0, add, 1, &data, &one, &one);
    CHECK(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH));
    CHECK(cuGraphUpload(exec, stream));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(word_at(data), 1, "a graph for kernels is launched by the host as well");
    CUDA_KERNEL_NODE_PARAMS params = {0};
    CHECK(cuGraphKernelNodeGetParams(node, &params));
    void *arguments[] = {&data, &three, &one};
    params.kernelParams = arguments;
    params.extra = NULL;
    CHECK(cuGraphExecKernelNodeSetParams(exec, node, &params));
    CHECK(cuGraphLaunch(exec, stream));
    CHECK(cuStreamSynchronize(stream));
    is_int(word_at(data), 4, "and changed");
    void *handed[] = {&kept, &exec};
    CHECK(cuLaunchKernel(keep, 1, 1, 1, 1, 1, 1, 0, stream, handed, NULL));
    CHECK(cuMemcpyDtoHAsync(&seen, kept, 8, stream));
    CHECK(cuStreamSynchronize(stream));
    ok(seen == (uintptr_t)exec, "a kernel is given its handle");
    CHECK(cuGraphExecDestroy(exec));
    CHECK(cuGraphDestroy(graph));
    CHECK(cuModuleUnload(module));
    CHECK(cuMemFree(data));
    CHECK(cuMemFree(kept));
    close_gpu(&gpu);
    return done();
}
