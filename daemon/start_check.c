// SPDX-License-Identifier: BSD-3-Clause
// See start_check.h. Nothing is opened here but files that are read.
#include "daemon/start_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/program_path.h"
#include "daemon/admin.h"
#include "daemon/admission.h"
#include "daemon/broker_connection.h"
#include "daemon/confinement.h"
#include "daemon/exporter.h"
#include "daemon/listeners.h"
#include "daemon/mps_settings.h"
#include "daemon/overcommit_factor.h"
#include "daemon/offered_transports.h"
#include "daemon/worker_setup.h"

static void choose_name(struct box *box)
{
    if (box->settings.name)
        snprintf(box->name, sizeof(box->name), "%s", box->settings.name);
    else if (gethostname(box->name, sizeof(box->name) - 1))
        snprintf(box->name, sizeof(box->name), "box");
}

static void choose_paths(struct box *box)
{
    static const char *const workers[] = {"rgpu-worker", "../libexec/rgpu/rgpu-worker", NULL};
    static const char *const simulators[] = {"../lib/rgpu/libcuda-sim.so", "../lib/libcuda-sim.so",
                                             NULL};
    const struct box_settings *settings = &box->settings;

    if (settings->worker_program)
        snprintf(box->worker_path, sizeof(box->worker_path), "%s", settings->worker_program);
    else
        program_path_find(workers, box->worker_path, sizeof(box->worker_path));
    if (settings->driver)
        snprintf(box->driver_path, sizeof(box->driver_path), "%s", settings->driver);
    else if (box->choice.software)
        program_path_find(simulators, box->driver_path, sizeof(box->driver_path));
    else
        snprintf(box->driver_path, sizeof(box->driver_path), "libcuda.so.1");
}

static int check_paths(const struct box *box)
{
    int err = 0;

    if (access(box->worker_path, X_OK)) {
        config_complain(settings_table, "workers", "worker_program",
                        "worker_program=%s cannot be run error=\"%s\"", box->worker_path,
                        strerror(errno));
        err = -EINVAL;
    }
    // A name without a folder is found by the loader, in the worker.
    if (strchr(box->driver_path, '/') && access(box->driver_path, R_OK)) {
        config_complain(settings_table, "box", "driver", "driver=%s cannot be read error=\"%s\"",
                        box->driver_path, strerror(errno));
        err = -EINVAL;
    }
    return err;
}

int start_check(struct box *box)
{
    const struct box_settings *settings = &box->settings;
    int choice = device_choice_parse(settings->devices ? settings->devices : "", &box->choice);

    choose_name(box);
    choose_paths(box);
    int parts[] = {choice,
                   transports_check(settings),
                   worker_setup_check(settings),
                   admission_load_keys(box, settings),
                   confinement_check(settings),
                   mps_settings_check(box),
                   overcommit_settings_check(box),
                   listeners_check(settings),
                   admin_check(settings),
                   exporter_check(settings),
                   broker_connection_check(settings),
                   check_paths(box)};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (parts[i])
            return parts[i];
    return 0;
}
