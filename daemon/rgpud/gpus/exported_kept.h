// SPDX-License-Identifier: BSD-3-Clause
// Takes over exports of an earlier rgpud.
#ifndef RGPU_DAEMON_EXPORTED_KEPT_H
#define RGPU_DAEMON_EXPORTED_KEPT_H

#include "daemon/rgpud/box/box.h"
#include "daemon/rgpud/box/spawner_kept.h"

// Takes over what an earlier rgpud has stored of an export, once its sessions are taken over. If it
// cannot be, the token is good for nothing any more, and nothing else changes.
void exports_take_over(struct box *box, const struct spawner_kept *kept);

#endif
