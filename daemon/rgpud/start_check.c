// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/start_check.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/security/features.h"
#include "daemon/rgpud/admin.h"
#include "daemon/rgpud/clients/admission.h"
#include "daemon/rgpud/broker/broker_connection.h"
#include "daemon/rgpud/box/confinement.h"
#include "daemon/rgpud/exporter.h"
#include "daemon/rgpud/box/listeners.h"
#include "daemon/rgpud/gpus/health.h"
#include "daemon/rgpud/workers/mps_settings.h"
#include "daemon/rgpud/sharing/overcommit_factor.h"
#include "daemon/rgpud/box/offered_transports.h"
#include "daemon/rgpud/workers/worker_setup.h"

static int check_paths(const struct box *box)
{
    int err = 0;

    if (access(box->worker_path, X_OK)) {
        config_complain(settings_table, "workers", "worker_program",
                        "worker_program=%s cannot be run error=\"%s\"", box->worker_path,
                        strerror(errno));
        err = -EINVAL;
    }
    // The loader in the worker finds a name without a folder.
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

    programs_box_name(settings, box->name, sizeof(box->name));
    programs_worker(settings, box->worker_path, sizeof(box->worker_path));
    programs_driver(settings, box->choice.software, box->driver_path, sizeof(box->driver_path));
    int parts[] = {choice,
                   features_report(FEATURE_OF_BOXES),
                   transports_check(settings),
                   worker_setup_check(settings),
                   admission_load_keys(box, settings),
                   confinement_check(settings),
                   mps_settings_check(box),
                   overcommit_settings_check(box),
                   health_settings_check(settings),
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
