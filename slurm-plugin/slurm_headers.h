// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's own headers, and the differences between its versions 21.08 to 25.11. Only the plugins
// that run inside Slurm's daemons include this file.
#ifndef RGPU_SLURM_HEADERS_H
#define RGPU_SLURM_HEADERS_H

// Slurm's headers cause some of the warnings that this project enables.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wundef"

#include <slurm/slurm_version.h>

#include "src/common/slurm_xlator.h"

#include "slurm/slurm.h"
#include "slurm/slurm_errno.h"

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 2, 0)
#include "src/interfaces/gres.h"
#include "src/interfaces/prep.h"
#else
#include "src/common/gres.h"
#include "src/common/prep.h"
#endif
#include "src/common/env.h"
#include "src/common/log.h"
#include "src/common/xmalloc.h"
#include "src/common/xstring.h"
#include "src/slurmctld/job_scheduler.h"
#include "src/slurmctld/licenses.h"
#include "src/slurmctld/locks.h"
#include "src/slurmctld/slurmctld.h"
#if __has_include("src/interfaces/preempt.h")
#include "src/interfaces/preempt.h"
#else
#include "src/slurmctld/preempt.h"
#endif
#if __has_include("src/stepmgr/srun_comm.h")
#include "src/stepmgr/srun_comm.h"
#else
#include "src/slurmctld/srun_comm.h"
#endif

#pragma GCC diagnostic pop

#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(24, 11, 0)
typedef list_t *slurm_list;
#else
typedef List slurm_list;
#endif

// hostlist_t is a pointer in older versions, and the structure itself in newer ones.
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(23, 11, 0)
#define LIST_POINTER *
#else
#define LIST_POINTER
#endif

// Adds cluster name, host and port of slurm.conf to the settings, inside slurmctld.
#define identify_cluster(settings) \
    slurm_settings_identify(settings, slurm_conf.cluster_name, \
                            slurm_conf.control_cnt ? slurm_conf.control_machine[0] : NULL, \
                            slurm_conf.slurmctld_port)

// The result type and the return statement of a plugin's fini().
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
#define FINI_TYPE void
#define FINI_RETURN return
#else
#define FINI_TYPE int
#define FINI_RETURN return SLURM_SUCCESS
#endif

#define PLUGIN_EXPORT __attribute__((visibility("default")))

// The variables by which Slurm identifies a plugin. Slurm loads only plugins of its own version.
#define PLUGIN_IDENTITY(name, type) \
    PLUGIN_EXPORT const char plugin_name[] = name; \
    PLUGIN_EXPORT const char plugin_type[] = type; \
    PLUGIN_EXPORT const uint32_t plugin_version = SLURM_VERSION_NUMBER

#endif
