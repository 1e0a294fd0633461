// SPDX-License-Identifier: GPL-2.0-or-later
// Slurm's own headers, of its versions 21.08 to 26.05. Only the plugins that run inside Slurm's
// daemons include this file.
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

#include "slurm-plugin/base/late.h"
#include "slurm-plugin/base/slurm_versions.h"

// Adds cluster name, host and port of slurm.conf to the settings, inside slurmctld.
#define identify_cluster(settings) \
    slurm_settings_identify(settings, slurm_conf.cluster_name, \
                            slurm_conf.control_cnt ? slurm_conf.control_machine[0] : NULL, \
                            slurm_conf.slurmctld_port)

#define PLUGIN_EXPORT __attribute__((visibility("default")))

// The variables by which Slurm identifies a plugin. Slurm loads only plugins of its own version.
// Plugins without which its daemons exit take that version over: Slurm reads it after constructors.
#define PLUGIN_IDENTITY(name, type) \
    PLUGIN_EXPORT const char plugin_name[] = name; \
    PLUGIN_EXPORT const char plugin_type[] = type; \
    PLUGIN_EXPORT uint32_t plugin_version = SLURM_VERSION_NUMBER

#define PLUGIN_IDENTITY_OF_RUNNING_SLURM(name, type) \
    PLUGIN_IDENTITY(name, type); \
    static __attribute__((constructor)) void plugin_take_version(void) \
    { \
        uint32_t running = running_version(); \
        if (running) \
            plugin_version = running; \
    } \
    static bool plugin_fits(void) \
    { \
        return plugin_version == SLURM_VERSION_NUMBER; \
    } \
    static bool plugin_fits_or_says(void) \
    { \
        char text[VERSION_TEXT_MAX]; \
        running_version_text(SLURM_VERSION_NUMBER, plugin_version, text); \
        if (!plugin_fits()) \
            error("%s: %s", plugin_type, text); \
        return plugin_fits(); \
    }

#endif
