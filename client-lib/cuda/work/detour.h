// SPDX-License-Identifier: BSD-3-Clause
// A detour runs work on one box in the order of a stream of another box. The work runs in a stream
// of the library. That stream waits for an event of the program's stream, and the program's stream
// then waits for an event of that stream.
#ifndef RGPU_CLIENT_DETOUR_H
#define RGPU_CLIENT_DETOUR_H

#include "client-lib/cuda/objects/object.h"

struct detour {
    CUstream stream;              // the program's stream
    const struct object *waiting; // the context of that stream
    CUstream helper;              // stream for the work, whose context is current until detour_end
    CUevent before;               // event of the program's stream before the work
};

// Begins a detour. STREAM belongs to the context WAITING, the work to the context THERE of another
// box. On success the caller sends the work to detour->helper and calls detour_end.
CUresult detour_begin(struct detour *detour, CUstream stream, const struct object *waiting,
                      const struct object *there);
// Ends a detour: lets later work of the program's stream wait for the work. RESULT is the result of
// sending the work. Returns RESULT, or if that is CUDA_SUCCESS an error of the detour.
CUresult detour_end(struct detour *detour, CUresult result);

#endif
