// SPDX-License-Identifier: GPL-2.0-or-later
// The switches of a job's nodes.
#include "slurm-plugin/job_switches.h"

#include <string.h>

#include "slurm-plugin/places.h"

// As of Slurm's headers, of which one or the other has it; slurmd loads this as well.
extern int GET_NODE_ADDRESS(char *node, char **address, char **pattern);
#pragma weak slurm_topo_get_node_addr
#pragma weak topology_g_get_node_addr
#pragma weak slurm_hostlist_create
#pragma weak slurm_hostlist_shift
#pragma weak slurm_hostlist_destroy

void near_of_job(const job_record_t *job, char near[JOB_NEAR_MAX])
{
    struct places places = {0};
    hostlist_t LIST_POINTER nodes;
    char *node;

    *near = '\0';
    if (!job->nodes || !GET_NODE_ADDRESS)
        return;
    nodes = slurm_hostlist_create(job->nodes);
    while (nodes && (node = slurm_hostlist_shift(nodes))) {
        char *address = NULL, *pattern = NULL;
        if (GET_NODE_ADDRESS(node, &address, &pattern) == SLURM_SUCCESS)
            places_add(&places, address);
        xfree(address);
        xfree(pattern);
        free(node);
    }
    if (nodes)
        slurm_hostlist_destroy(nodes);
    places_print(&places, near, JOB_NEAR_MAX);
}
