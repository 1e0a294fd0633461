// SPDX-License-Identifier: BSD-3-Clause
// Work on one box in the order of a stream of another box: it runs in a stream of the library,
// between two waits for events.
#ifndef RGPU_CLIENT_DETOUR_H
#define RGPU_CLIENT_DETOUR_H

#include "client-lib/cuda/objects/object.h"

struct detour {
    CUstream stream; // the program's stream
    const struct object *waiting;
    CUstream helper; // stream for the work, whose context is current until detour_end
    CUevent before;
};

// STREAM belongs to WAITING, and the work belongs to THERE. These are contexts of two boxes.
CUresult detour_begin(struct detour *detour, CUstream stream, const struct object *waiting,
                      const struct object *there);
// Returns RESULT, which is the work's, or an error of the detour. The program's stream waits for
// the work.
CUresult detour_end(struct detour *detour, CUresult result);

#endif
