// SPDX-License-Identifier: BSD-3-Clause
// Writes a graph in the language of Graphviz.
#include <errno.h>
#include <stdio.h>

#include "sim/graph/graph.h"
#include "sim/module.h"

static const char *type_name(CUgraphNodeType type)
{
    switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return "KERNEL";
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "MEMCPY";
    case CU_GRAPH_NODE_TYPE_MEMSET: return "MEMSET";
    case CU_GRAPH_NODE_TYPE_HOST: return "HOST";
    case CU_GRAPH_NODE_TYPE_GRAPH: return "GRAPH";
    case CU_GRAPH_NODE_TYPE_EMPTY: return "EMPTY";
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: return "EVENT_WAIT";
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return "EVENT_RECORD";
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL: return "EXT_SEMAS_SIGNAL";
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: return "EXT_SEMAS_WAIT";
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: return "MEM_ALLOC";
    case CU_GRAPH_NODE_TYPE_MEM_FREE: return "MEM_FREE";
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP: return "BATCH_MEM_OP";
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return "CONDITIONAL";
    }
    return "UNKNOWN";
}

// What of the parameters is written: all with the first flag, else what its own flag asks for.
static bool wants(unsigned flags, unsigned flag)
{
    return flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | flag);
}

static void write_details(FILE *file, const struct node *node, unsigned flags)
{
    const CUgraphNodeParams *p = step_params(node->step);
    const CUDA_MEMCPY3D *copy = &p->memcpy.copyParams;
    switch ((int)p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        fprintf(file, "\\n%s", step_function(node->step)->info->name);
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS))
            fprintf(file, "\\n\\<\\<\\<(%u,%u,%u),(%u,%u,%u),%u\\>\\>\\>", p->kernel.gridDimX,
                    p->kernel.gridDimY, p->kernel.gridDimZ, p->kernel.blockDimX,
                    p->kernel.blockDimY, p->kernel.blockDimZ, p->kernel.sharedMemBytes);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS))
            fprintf(file, "\\n%zu x %zu x %zu bytes", copy->WidthInBytes, copy->Height,
                    copy->Depth);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS))
            fprintf(file, "\\n0x%llx = %u, %zu x %zu of %u bytes",
                    (unsigned long long)p->memset.dst, p->memset.value, p->memset.width,
                    p->memset.height, p->memset.elementSize);
        break;
    case CU_GRAPH_NODE_TYPE_HOST:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS))
            fprintf(file, "\\n%p(%p)", (void *)(uintptr_t)p->host.fn, p->host.userData);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS))
            fprintf(file, "\\n0x%llx, %zu bytes", (unsigned long long)p->alloc.dptr,
                    p->alloc.bytesize);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS))
            fprintf(file, "\\n0x%llx", (unsigned long long)p->free.dptr);
        break;
    }
}

static void write_node(FILE *file, const struct graph *graph, const struct node *node,
                       unsigned flags)
{
    fprintf(file, "\"graph_%llu_node_%zu\"[shape=\"record\" label=\"%zu\\n%s",
            (unsigned long long)graph->id, node->place, node->place, type_name(node_type(node)));
    write_details(file, node, flags);
    if (wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
        fprintf(file, "\\nnode handle 0x%llx", (unsigned long long)node->object.handle);
    fprintf(file, "\"];\n");
}

static void write_graph(FILE *file, struct graph *graph, unsigned flags)
{
    fprintf(file, "subgraph cluster_%llu {\nlabel=\"graph_%llu\" graph[style=\"dashed\"];\n",
            (unsigned long long)graph->id, (unsigned long long)graph->id);
    for (size_t i = 0; i < graph->node_count; i++) {
        graph->nodes[i]->place = i;
        write_node(file, graph, graph->nodes[i], flags);
    }
    for (size_t i = 0; i < graph->node_count; i++)
        for (size_t e = 0; e < graph->nodes[i]->after.count; e++) {
            const struct edge *edge = &graph->nodes[i]->after.items[e];
            fprintf(file, "\"graph_%llu_node_%zu\" -> \"graph_%llu_node_%zu\"%s;\n",
                    (unsigned long long)graph->id, i, (unsigned long long)graph->id,
                    edge->node->place, edge->data.type ? "[style=\"dashed\"]" : "");
        }
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned part = 0; part < graph->nodes[i]->part_count; part++)
            write_graph(file, graph->nodes[i]->parts[part], flags);
    fprintf(file, "}\n");
}

SIM_API(cuGraphDebugDotPrint, CUgraph handle, const char *path, unsigned int flags)
{
    struct graph *graph;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!path, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_find(handle, &graph));
    FILE *file = fopen(path, "we");
    SIM_RETURN_IF(!file, CUDA_ERROR_OPERATING_SYSTEM);
    fprintf(file, "digraph dot {\n");
    write_graph(file, graph, flags);
    fprintf(file, "}\n");
    bool written = !ferror(file);
    return fclose(file) || !written ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_SUCCESS;
}
