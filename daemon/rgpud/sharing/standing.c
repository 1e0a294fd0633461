// SPDX-License-Identifier: BSD-3-Clause
#include "daemon/rgpud/sharing/standing.h"

#include "daemon/rgpud/gpus/accounts.h"
#include "daemon/rgpud/sharing/overcommit.h"
#include "daemon/rgpud/suspension/suspension.h"

void standing_show(const struct worker_process *worker, json_t *object)
{
    static const char *const members[] = {[THROTTLE_IN] = "limit_in", [THROTTLE_OUT] = "limit_out"};
    uint64_t rates[THROTTLE_DIRECTIONS];
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
    accounts_network_rates(worker->box, worker->session.grant.lease, worker->session.id, rates);
    for (int i = 0; i < THROTTLE_DIRECTIONS; i++)
        if (rates[i])
            json_object_set_new(object, members[i], json_integer((json_int_t)rates[i]));
}
