// SPDX-License-Identifier: BSD-3-Clause
// Handles of graphs, nodes and executable graphs that are gone, or never were any. A driver may
// crash on these; a box and its client do not.
#include "tests/programs/graph_calls.h"

static void what_is_gone(CUstream stream)
{
    CUgraph graph = new_graph(), other = new_graph();
    CUgraphNode node, foreign, next;
    CUgraphNodeType type;
    size_t count;
    CHECK(cuGraphAddEmptyNode(&node, graph, NULL, 0));
    CHECK(cuGraphAddEmptyNode(&foreign, other, NULL, 0));
    CUgraphExec exec = instantiate(graph);
    CHECK(cuGraphExecDestroy(exec));
    gives(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE,
          "what was destroyed is not launched");
    gives(cuGraphExecDestroy(exec), CUDA_ERROR_INVALID_VALUE, "nor destroyed again");
    CHECK(cuGraphDestroyNode(node));
    gives(cuGraphNodeGetType(node, &type), CUDA_ERROR_INVALID_VALUE,
          "a node that is gone has no kind");
    gives(cuGraphAddEmptyNode(&next, graph, &node, 1), CUDA_ERROR_INVALID_VALUE,
          "and nothing depends on it");
    CHECK(cuGraphDestroy(graph));
    gives(cuGraphGetNodes(graph, NULL, &count), CUDA_ERROR_INVALID_VALUE,
          "a graph that is gone has none");
    gives(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE, "and is not destroyed again");
    gives(cuGraphLaunch(NULL, stream), CUDA_ERROR_INVALID_VALUE, "nothing is not launched");
    gives(cuGraphDestroy((CUgraph)(uintptr_t)0x0a00000012345678), CUDA_ERROR_INVALID_VALUE,
          "what never was a graph is none");
    gives(cuGraphNodeGetType(foreign, &type), CUDA_SUCCESS, "while another's node is what it was");
    CHECK(cuGraphDestroy(other));
}

int main(void)
{
    struct gpu gpu = open_gpu(0);
    CUstream stream;
    CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    what_is_gone(stream);
    CHECK(cuStreamDestroy(stream));
    close_gpu(&gpu);
    return done();
}
