// SPDX-License-Identifier: BSD-3-Clause
// Writes a graph in Graphviz format.
#include <stdio.h>

#include "sim/graph/graph.h"
#include "sim/code/module.h"

// Returns true if the flag's part of the parameters is written; the verbose flag includes all
// parts.
static bool graph_dot_wants(unsigned flags, unsigned flag)
{
    return flags & (CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE | flag);
}

static const char *graph_dot_way_of(const CUDA_MEMCPY3D *copy)
{
    bool from = copy->srcMemoryType == CU_MEMORYTYPE_HOST;
    bool to = copy->dstMemoryType == CU_MEMORYTYPE_HOST;
    return from ? to ? "HtoH" : "HtoD" : to ? "DtoH" : "DtoD";
}

static void graph_dot_write_kernel(FILE *file, const struct node *node, unsigned flags)
{
    const CUDA_KERNEL_NODE_PARAMS_v3 *p = &step_params(node->step)->kernel;
    fprintf(file, "%s", step_function(node->step)->info->name);
    if (graph_dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS))
        fprintf(file, "\\<\\<\\<%u,%u,%u\\>\\>\\>", p->gridDimX * p->gridDimY * p->gridDimZ,
                p->blockDimX * p->blockDimY * p->blockDimZ, p->sharedMemBytes);
    fprintf(file, "\n");
}

static void write_fill(FILE *file, const CUDA_MEMSET_NODE_PARAMS_v2 *p, unsigned flags)
{
    fprintf(file, "MEMSET\n(%u,%zu)\n", p->value, p->width * p->height * p->elementSize);
    if (graph_dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS))
        fprintf(file, "dptr: 0x%llx\npitch: %zu\nelementSize: %u\nwidth: %zu\nheight: %zu\n",
                (unsigned long long)p->dst, p->pitch, p->elementSize, p->width, p->height);
}

static void graph_dot_write_copy(FILE *file, const CUDA_MEMCPY3D *p, unsigned flags)
{
    fprintf(file, "MEMCPY\n(%s,%zu)\n", graph_dot_way_of(p),
            p->WidthInBytes * p->Height * p->Depth);
    if (graph_dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS))
        fprintf(file, "Extent: %zu x %zu x %zu\n", p->WidthInBytes, p->Height, p->Depth);
}

static void graph_dot_write_text(FILE *file, const struct node *node, unsigned flags)
{
    const CUgraphNodeParams *p = step_params(node->step);
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: graph_dot_write_kernel(file, node, flags); break;
    case CU_GRAPH_NODE_TYPE_MEMCPY: graph_dot_write_copy(file, &p->memcpy.copyParams, flags); break;
    case CU_GRAPH_NODE_TYPE_MEMSET: write_fill(file, &p->memset, flags); break;
    case CU_GRAPH_NODE_TYPE_HOST:
        fprintf(file, "HOST\n");
        if (graph_dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS))
            fprintf(file, "fn: 0x%llx\nuserData: %p\n", (unsigned long long)(uintptr_t)p->host.fn,
                    p->host.userData);
        break;
    case CU_GRAPH_NODE_TYPE_GRAPH:
        fprintf(file, "graph_%llu\n", (unsigned long long)node->parts[0]->id);
        break;
    case CU_GRAPH_NODE_TYPE_EMPTY: fprintf(file, "EMPTY\n"); break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT: fprintf(file, "EVENT_WAIT\n"); break;
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: fprintf(file, "EVENT_RECORD\n"); break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        fprintf(file, "MEM_ALLOC\n(0x%llx,%zu)\n", (unsigned long long)p->alloc.dptr,
                p->alloc.bytesize);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        fprintf(file, "MEM_FREE\n(0x%llx)\n", (unsigned long long)p->free.dptr);
        break;
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        fprintf(file, "BATCH_MEM_OP\n(%u)\n", p->memOp.count);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: fprintf(file, "CONDITIONAL\n"); break;
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT: fprintf(file, "EXT_SEMAS\n"); break;
    }
    if (graph_dot_wants(flags, CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES))
        fprintf(file, "node handle: 0x%016llX\n", (unsigned long long)node->object.handle);
}

static const char *style_of(CUgraphNodeType type)
{
    switch ((int)type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return "style=\"bold\" shape=\"octagon\"";
    case CU_GRAPH_NODE_TYPE_MEMCPY: return "style=\"solid\" shape=\"trapezium\"";
    case CU_GRAPH_NODE_TYPE_MEMSET: return "style=\"solid\" shape=\"invtrapezium\"";
    }
    return "style=\"solid\" shape=\"rectangle\"";
}

static void write_edges(FILE *file, const struct graph *graph, const struct node *from)
{
    for (size_t e = 0; e < from->after.count; e++) {
        const struct edge *edge = &from->after.items[e];
        fprintf(file, "\"graph_%llu_node_%zu\" -> \"graph_%llu_node_%zu\"%s;\n",
                (unsigned long long)graph->id, from->place, (unsigned long long)graph->id,
                edge->node->place, edge->data.type ? " [style=\"dashed\"]" : "");
    }
}

// Writes a graph, then the parts of its nodes, each as a graph of its own.
static void write_graph(FILE *file, struct graph *graph, unsigned flags)
{
    unsigned long long id = (unsigned long long)graph->id;
    fprintf(file, "subgraph cluster_%llu {\nlabel=\"graph_%llu\" graph[style=\"dashed\"];\n", id,
            id);
    for (size_t i = 0; i < graph->node_count; i++) {
        struct node *node = graph->nodes[i];
        node->place = i;
        fprintf(file, "\"graph_%llu_node_%zu\"[%s label=\"%zu\n", id, i, style_of(node_type(node)),
                i);
        graph_dot_write_text(file, node, flags);
        fprintf(file, "\"];\n\n");
    }
    for (size_t i = 0; i < graph->node_count; i++)
        write_edges(file, graph, graph->nodes[i]);
    fprintf(file, "}\n");
    for (size_t i = 0; i < graph->node_count; i++)
        for (unsigned part = 0; part < graph->nodes[i]->part_count; part++)
            write_graph(file, graph->nodes[i]->parts[part], flags);
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
