// SPDX-License-Identifier: BSD-3-Clause
// Work on one box in the order of a stream of another: it is done in a stream of the library's own, between two waits
// for events.
#ifndef RGPU_CLIENT_DETOUR_H
#define RGPU_CLIENT_DETOUR_H

#include "client-lib/objects/object.h"

struct detour {
    CUstream stream; // of the program
    const struct object *waiting;
    CUstream helper; // where the work goes, with its context current, until detour_end
    CUevent before;
};

// STREAM belongs to WAITING and the work to THERE, contexts of two boxes.
CUresult detour_begin(struct detour *detour, CUstream stream, const struct object *waiting,
                      const struct object *there);
// RESULT: of the work; gives it, or what goes wrong here. The program's stream waits for the work.
CUresult detour_end(struct detour *detour, CUresult result);

#endif
