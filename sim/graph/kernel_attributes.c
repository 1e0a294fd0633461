// SPDX-License-Identifier: BSD-3-Clause
// Attributes of kernel nodes. The step stores those that change the execution here; the others only
// tune a GPU, and are stored for queries.

#include "sim/graph/graph.h"

#define KNOWN \
    (1u << CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW | 1u << CU_LAUNCH_ATTRIBUTE_COOPERATIVE | \
     1u << CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION | \
     1u << CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE | \
     1u << CU_LAUNCH_ATTRIBUTE_PRIORITY | 1u << CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP | \
     1u << CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN | \
     1u << CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING | \
     1u << CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE | \
     1u << CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)

static CUresult kernel_attributes_find_kernel(CUgraphNode handle, struct node **out)
{
    SIM_TRY(node_find(handle, out));
    SIM_RETURN_IF(node_type(*out) != CU_GRAPH_NODE_TYPE_KERNEL, CUDA_ERROR_INVALID_VALUE);
    return CUDA_SUCCESS;
}

static bool kernel_attributes_is_known(CUkernelNodeAttrID id)
{
    return (unsigned)id < CU_LAUNCH_ATTRIBUTE_MAX && KNOWN & 1u << id;
}

SIM_API(cuGraphKernelNodeGetAttribute, CUgraphNode handle, CUkernelNodeAttrID id,
        CUkernelNodeAttrValue *value)
{
    struct node *node;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(kernel_attributes_find_kernel(handle, &node));
    SIM_RETURN_IF(!value || !kernel_attributes_is_known(id), CUDA_ERROR_INVALID_VALUE);
    const struct step_attributes *attributes = step_kernel_attributes(node->step);
    *value = attributes->values[id];
    if (id == CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP && !(attributes->set & 1u << id))
        value->memSyncDomainMap.remote = 1;
    return CUDA_SUCCESS;
}

// Replaces the attributes. As with a driver, a kernel whose parameters came in one buffer cannot
// become cooperative.
static CUresult kernel_attributes_change(struct node *node,
                                         const struct step_attributes *attributes)
{
    struct node_step *step;
    SIM_RETURN_IF(step_params(node->step)->kernel.extra &&
                      attributes->values[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative,
                  CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(step_create(step_params(node->step), attributes, &step));
    node_set_step(node, step);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphKernelNodeSetAttribute, CUgraphNode handle, CUkernelNodeAttrID id,
        const CUkernelNodeAttrValue *value)
{
    struct node *node;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(kernel_attributes_find_kernel(handle, &node));
    SIM_RETURN_IF(!value || !kernel_attributes_is_known(id), CUDA_ERROR_INVALID_VALUE);
    struct step_attributes attributes = *step_kernel_attributes(node->step);
    attributes.set |= 1u << id;
    attributes.values[id] = *value;
    if (id == CU_LAUNCH_ATTRIBUTE_PRIORITY)
        attributes.values[id].priority = stream_priority(value->priority);
    return kernel_attributes_change(node, &attributes);
}

SIM_API(cuGraphKernelNodeCopyAttributes, CUgraphNode to_handle, CUgraphNode from_handle)
{
    struct node *to, *from;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(kernel_attributes_find_kernel(to_handle, &to));
    SIM_TRY(kernel_attributes_find_kernel(from_handle, &from));
    return kernel_attributes_change(to, step_kernel_attributes(from->step));
}
