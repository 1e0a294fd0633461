// SPDX-License-Identifier: BSD-3-Clause
// Checks that `rgpuctl doctor` shares with `rgpuctl slurm-check`.
#ifndef RGPU_ADMIN_CLI_DOCTOR_H
#define RGPU_ADMIN_CLI_DOCTOR_H

#include <jansson.h>

#include "admin-cli/output/conversation.h"

// Opens a client of the broker, which becomes POOL's, and prints findings about munge and the
// broker. Returns the answer with the boxes of the pool, whose reference the caller owns; NULL if
// there is none.
json_t *doctor_ask_broker(struct conversation *pool, const struct broker_client_options *options);

#endif
