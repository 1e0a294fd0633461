// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/work/known_attributes.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/box_session.h"
#include "common/base/scope.h"

struct known_attributes {
    CUdevice device;
    uint64_t asked; // value of `sets` when they were valid
    uint32_t which; // a bit for each
    int values[CU_FUNC_ATTRIBUTE_MAX];
};

static _Atomic uint64_t sets = 1;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // protects the objects' attributes

static bool holds(const struct known_attributes *known, CUdevice device, uint64_t now)
{
    return known && known->device == device && known->asked == now;
}

// Returns true if the box could answer: neither the context nor the session has failed.
static bool known_attributes_is_sound(const struct object *function)
{
    struct object *context;
    return thread_context_object(&context) == CUDA_SUCCESS && !atomic_load(&context->ctx.sticky) &&
           !atomic_load(&function->session->lost);
}

bool attribute_known(struct object *function, CUdevice device, CUfunction_attribute name,
                     int *value, uint64_t *asked)
{
    *asked = atomic_load(&sets);
    if (name >= CU_FUNC_ATTRIBUTE_MAX || !known_attributes_is_sound(function))
        return false;
    SCOPED_LOCK(&lock);
    const struct known_attributes *known = function->function.attributes;
    if (!holds(known, device, *asked) || !(known->which & UINT32_C(1) << name))
        return false;
    *value = known->values[name];
    return true;
}

void attribute_learn(struct object *function, CUdevice device, CUfunction_attribute name, int value,
                     uint64_t asked)
{
    if (name >= CU_FUNC_ATTRIBUTE_MAX || asked != atomic_load(&sets))
        return;
    SCOPED_LOCK(&lock);
    struct known_attributes *known = function->function.attributes;
    if (!known)
        known = function->function.attributes = calloc(1, sizeof(*known));
    if (!known)
        return;
    if (!holds(known, device, asked))
        *known = (struct known_attributes){.device = device, .asked = asked};
    known->which |= UINT32_C(1) << name;
    known->values[name] = value;
}

void attributes_forget(void)
{
    atomic_fetch_add(&sets, 1);
}
