// SPDX-License-Identifier: BSD-3-Clause
// A cache of what the box said of functions and kernels: attributes, of which the CUDA runtime
// queries all sixteen one after another, and occupancy, which PyTorch asks at each launch of a
// reduction; and which values its attributes were set to, which programs repeat before each launch.
// Thread-safe.
#ifndef RGPU_CLIENT_KNOWN_ANSWERS_H
#define RGPU_CLIENT_KNOWN_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "client-lib/cuda/objects/object.h"
#include "proto/cuda_abi.h"

struct known_answers; // those of one function or kernel; object.h

enum known_kind {
    KNOWN_ATTRIBUTE,     // first: its name
    KNOWN_SETTING,       // first: name of the attribute that was set to the answer
    KNOWN_BLOCKS,        // cuOccupancyMaxActiveBlocksPerMultiprocessor: threads, bytes, flags
    KNOWN_SHARED_MEMORY, // cuOccupancyAvailableDynamicSMemPerBlock: blocks, threads
};

struct known_question {
    enum known_kind kind;
    CUdevice device; // of a kernel; 0 for functions
    uint64_t first, second, third;
};

// Finds the answer about a function or kernel. Returns false if the caller must ask the box; then
// *ASKED is the state of the cache for known_learn.
bool known_find(struct object *function, const struct known_question *question, uint64_t *answer,
                uint64_t *asked);
// Stores the box's answer, unless something of the function was set since known_find set ASKED.
void known_learn(struct object *function, const struct known_question *question, uint64_t answer,
                 uint64_t asked);
// Finds the attribute NAME of a function, or of a kernel on DEVICE (0 for functions); the box is
// asked for all of them at once. Returns false if it did not say; else *RESULT is the call's.
bool known_attribute(struct object *function, CUdevice device, CUfunction_attribute name,
                     int *value, CUresult *result);
// Returns true if the last SETTING of FUNCTION (NULL: false) was VALUE, so that the box need not be
// asked. Sets *ASKED as known_find does.
bool known_is_set(struct object *function, const struct known_question *setting, int value,
                  uint64_t *asked);
// Notes that the box was asked to set something of FUNCTION (NULL: does nothing): all answers are
// forgotten, and of the settings SETTING (NULL: it was none). VALUE: what it is now, unless another
// thread has set something since known_is_set set ASKED; NULL: the box refused.
void known_set(struct object *function, const struct known_question *setting, const int *value,
               uint64_t asked);

// Returns the function HANDLE, which may be that of a kernel, and the device for questions about
// it; NULL if there is no such function.
struct object *known_function(const void *handle, CUdevice *device);

#endif
