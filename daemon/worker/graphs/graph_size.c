// SPDX-License-Identifier: BSD-3-Clause
// The driver allocates commands for each node, and channels for branches that may run concurrently.
// It reuses them for later graphs and keeps them until the context ends. So the maximum of
// concurrent graphs of the session counts in each of their contexts.
#include "daemon/worker/graphs/graph_size.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/handle_table.h"
#include "common/base/scope.h"
#include "daemon/worker/account/charge.h"
#include "daemon/worker/account/graph_walk.h"
#include "daemon/worker/execute/serve_green.h"
#include "daemon/worker/execute/serve_launch.h"
#include "daemon/worker/core/gpus.h"
#include "daemon/worker/core/session.h"

// Seen on an H100 (driver 580): 220 MiB for a chain of 100,000 kernels, 26.9 GiB for 300,000 that
// depend on nothing.
enum { NODE_BYTES = 2304, BRANCH_BYTES = 96 * 1024 };

struct graph_size {
    uint64_t exec, bytes;
    struct graph_size *next;
};

static struct graph_size *sizes;
static uint64_t live; // bytes of all of them
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t successors(CUgraphNode node)
{
    size_t count = 0;

    if (driver.cuGraphNodeGetDependentNodes_v2)
        driver.cuGraphNodeGetDependentNodes_v2(node, NULL, NULL, &count);
    else if (driver.cuGraphNodeGetDependentNodes)
        driver.cuGraphNodeGetDependentNodes(node, NULL, &count);
    return count;
}

static CUresult graph_size_add_node(CUgraphNode node, CUgraphNodeType type, void *argument)
{
    uint64_t *bytes = argument;
    size_t after = successors(node);

    (void)type;
    *bytes += NODE_BYTES + (after > 1 ? (after - 1) * BRANCH_BYTES : 0);
    return CUDA_SUCCESS;
}

static CUresult add_roots(CUgraph graph, void *argument)
{
    uint64_t *bytes = argument;
    size_t roots = 0;
    CUresult result = driver.cuGraphGetRootNodes(graph, NULL, &roots);

    *bytes += roots > 1 ? (roots - 1) * BRANCH_BYTES : 0;
    return result;
}

// Counts the live executable graphs for a context; the caller holds the lock. The driver reuses the
// memory of graphs that have ended, so only the most live bytes so far count (charge_at_least()).
static CUresult graph_size_count_in(struct serve *serve, uint64_t handle)
{
    CUcontext context = handle_find(session.handles, handle, HANDLE_CONTEXT);
    CUdevice device = 0;

    if (!context || launch_device(context, serve->current, &device) != CUDA_SUCCESS)
        return CUDA_SUCCESS; // the driver says what it thinks of that
    int ordinal = session_device_of(device);
    if (!charges_apply(ordinal) || !gpus.list[ordinal].page ||
        charge_at_least(green_root(context), PART_GRAPHS, ordinal, live))
        return CUDA_SUCCESS;
    return CUDA_ERROR_OUT_OF_MEMORY;
}

static void graph_size_enter(struct serve *serve, struct graph_size *made,
                             const struct context_set *contexts)
{
    SCOPED_LOCK(&lock);
    made->next = sizes;
    sizes = made;
    live += made->bytes;
    serve_fail(serve, graph_size_count_in(serve, contexts->first ? contexts->first
                                                                 : serve_context(serve)));
    for (uint32_t i = 0; i < contexts->more_count; i++)
        serve_fail(serve, graph_size_count_in(serve, contexts->more[i]));
}

bool graph_size_take(struct serve *serve, uint64_t exec, CUgraph graph,
                     const struct context_set *contexts)
{
    uint64_t bytes = 0;
    const struct graph_visitor visitor = {.graph = add_roots,
                                          .node = graph_size_add_node,
                                          .argument = &bytes};

    if (!session.budgeted || serve_failed(serve) || !graph_can_walk() ||
        !driver.cuGraphGetRootNodes)
        return false;
    serve_fail(serve, graph_walk(graph, &visitor));
    struct graph_size *made = serve_failed(serve) ? NULL : malloc(sizeof(*made));
    if (!made) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return false;
    }
    *made = (struct graph_size){.exec = exec, .bytes = bytes};
    graph_size_enter(serve, made, contexts);
    return true;
}

void graph_size_end(uint64_t exec)
{
    SCOPED_LOCK(&lock);
    for (struct graph_size **at = &sizes; *at; at = &(*at)->next)
        if ((*at)->exec == exec) {
            struct graph_size *gone = *at;
            *at = gone->next;
            live -= gone->bytes;
            free(gone);
            return;
        }
}
