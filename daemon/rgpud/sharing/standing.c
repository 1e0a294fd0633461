// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/sharing/standing.h"

#include "daemon/rgpud/sharing/overcommit.h"
#include "daemon/rgpud/suspension/suspension.h"

void standing_show(const struct worker_process *worker, json_t *object)
{
    const char *word = suspension_word(worker);

    if (!word)
        word = overcommit_waits(worker)             ? "waits for memory"
               : worker->held_back                  ? "held back"
               : worker->session.stats.reconnecting ? "reconnecting"
                                                    : NULL;
    if (word)
        json_object_set_new(object, "suspension", json_string(word));
    if (worker->held_back)
        json_object_set_new(object, "held_back", json_true());
}
