// SPDX-License-Identifier: BSD-3-Clause
// hwloc reports the topology. If it lists no PCI devices, because its plugin for them is missing,
// the kernel's files show which processors are near a device.
#include "daemon/worker/core/placement.h"

#include <dirent.h>
#include <errno.h>
#include <hwloc.h>
#include <hwloc/glibc-sched.h>
#include <hwloc/linux.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/log.h"
#include "daemon/worker/core/setup.h"

static hwloc_topology_t topology; // NULL: nothing is known
static char text[200] = "not known";
static char rdma[64]; // near the GPU, with commas
static int rdma_count, rdma_near;

void placement_look(void)
{
    // Excludes the components that query GPUs, since their drivers must not start here, and the one
    // that visits each processor in turn. If this is set, hwloc reads no topology file.
    if (!getenv("HWLOC_XMLFILE"))
        setenv("HWLOC_COMPONENTS", "-x86,-opencl,-cuda,-nvml,-rsmi,-levelzero,-gl", 0);
    if (hwloc_topology_init(&topology)) {
        topology = NULL;
        return;
    }
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (hwloc_topology_load(topology)) {
        log_warn("hwloc does not know this machine: workers run anywhere");
        hwloc_topology_destroy(topology);
        topology = NULL;
    }
}

const char *placement_text(void)
{
    return text;
}

// ---- what is near ----

static bool placement_read_near(const char *directory, hwloc_bitmap_t out)
{
    char path[320];

    snprintf(path, sizeof(path), "%s/local_cpus", directory);
    return !hwloc_linux_read_path_as_cpumask(path, out) && !hwloc_bitmap_iszero(out);
}

static bool processors_near(const char *pci, hwloc_bitmap_t out)
{
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(topology, pci);
    char directory[64];

    if (device)
        device = hwloc_get_non_io_ancestor_obj(topology, device);
    if (device && device->cpuset)
        return !hwloc_bitmap_copy(out, device->cpuset);
    snprintf(directory, sizeof(directory), "/sys/bus/pci/devices/%.20s", pci);
    return hwloc_topology_is_thissystem(topology) && placement_read_near(directory, out);
}

static void add_rdma(const char *name, bool near)
{
    size_t used = strlen(rdma);

    rdma_count++;
    if (!near || used + strlen(name) + 2 > sizeof(rdma))
        return;
    rdma_near++;
    snprintf(rdma + used, sizeof(rdma) - used, "%s%s", used ? "," : "", name);
}

static void find_rdma_of_kernel(hwloc_const_bitmap_t processors)
{
    DIR *devices = opendir("/sys/class/infiniband");
    hwloc_bitmap_t theirs = hwloc_bitmap_alloc();
    char directory[300];

    for (struct dirent *entry; devices && theirs && (entry = readdir(devices));) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(directory, sizeof(directory), "/sys/class/infiniband/%.200s/device",
                 entry->d_name);
        // Those of software are nowhere, and so as near as any.
        add_rdma(entry->d_name, !placement_read_near(directory, theirs) ||
                                    hwloc_bitmap_intersects(theirs, processors));
    }
    hwloc_bitmap_free(theirs);
    if (devices)
        closedir(devices);
}

static void find_rdma(hwloc_const_bitmap_t processors)
{
    hwloc_obj_t device = NULL;

    while ((device = hwloc_get_next_osdev(topology, device))) {
        hwloc_obj_t at = hwloc_get_non_io_ancestor_obj(topology, device);
        if (device->attr->osdev.type == HWLOC_OBJ_OSDEV_OPENFABRICS && at && at->cpuset)
            add_rdma(device->name, hwloc_bitmap_intersects(at->cpuset, processors));
    }
    if (!rdma_count && hwloc_topology_is_thissystem(topology))
        find_rdma_of_kernel(processors);
}

// ---- going there ----

// Uses those of the given processors that this process may use; without any of them the process
// stays where it is.
static int use_processors(hwloc_bitmap_t near)
{
    cpu_set_t set;
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    int err = !allowed || sched_getaffinity(0, sizeof(set), &set) ? -errno : 0;

    if (!err)
        err = hwloc_cpuset_from_glibc_sched_affinity(topology, allowed, &set, sizeof(set));
    if (!err && !hwloc_bitmap_intersects(allowed, near))
        err = -ENODEV;
    if (!err) {
        hwloc_bitmap_and(near, near, allowed);
        CPU_ZERO(&set);
        for (int i = hwloc_bitmap_first(near); i >= 0 && i < CPU_SETSIZE;
             i = hwloc_bitmap_next(near, i))
            CPU_SET((size_t)i, &set);
        err = sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
    }
    hwloc_bitmap_free(allowed);
    return err;
}

static void use_memory(hwloc_const_bitmap_t nodes)
{
    // Preferred: where it is full, memory of other nodes is better than none.
    if (hwloc_set_membind(topology, nodes, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_BYNODESET) &&
        hwloc_topology_is_thissystem(topology))
        log_warn("memory is taken anywhere error=\"%s\"", strerror(errno));
}

static void placement_describe(hwloc_const_bitmap_t processors, hwloc_const_bitmap_t nodes)
{
    char cpus[60], node[24];

    hwloc_bitmap_list_snprintf(cpus, sizeof(cpus), processors);
    hwloc_bitmap_list_snprintf(node, sizeof(node), nodes);
    snprintf(text, sizeof(text), "node %s, processors %s%s%s", node, cpus, *rdma ? ", " : "", rdma);
}

static void go(hwloc_bitmap_t processors, hwloc_bitmap_t nodes)
{
    int err = use_processors(processors);

    if (err) {
        log_warn("this worker may not run near its GPU error=\"%s\"", strerror(-err));
        snprintf(text, sizeof(text), "not near: %s", strerror(-err));
        return;
    }
    hwloc_cpuset_to_nodeset(topology, processors, nodes);
    use_memory(nodes);
    find_rdma(processors);
    if (!*setup.rdma_devices && rdma_near && rdma_near < rdma_count)
        snprintf(setup.rdma_devices, sizeof(setup.rdma_devices), "%s", rdma);
    placement_describe(processors, nodes);
    log_info("near the GPU place=\"%s\"", text);
}

void placement_take(const char *pci)
{
    hwloc_bitmap_t processors = hwloc_bitmap_alloc(), nodes = hwloc_bitmap_alloc();

    if (!topology || !processors || !nodes)
        log_debug("nothing is known of this machine");
    else if (hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_NUMANODE) <= 1)
        snprintf(text, sizeof(text), "one node");
    else if (processors_near(pci, processors))
        go(processors, nodes);
    hwloc_bitmap_free(processors);
    hwloc_bitmap_free(nodes);
    if (topology)
        hwloc_topology_destroy(topology);
    topology = NULL;
}
