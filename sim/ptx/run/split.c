// SPDX-License-Identifier: BSD-3-Clause
#include "sim/ptx/run/exec.h"

void warp_add_split(struct warp *w, struct frame *frame, uint32_t pc, uint32_t mask)
{
    struct split *s;

    for (unsigned i = 0; i < w->split_count; i++) {
        s = &w->splits[i];
        if (s->frame == frame && s->pc == pc && s->state != SPLIT_BARRIER) {
            s->mask |= mask;
            s->state = SPLIT_RUNNABLE;
            return;
        }
    }
    s = &w->splits[w->split_count++];
    *s = (struct split){.frame = frame, .pc = pc, .mask = mask, .turn = w->turn};
}
