// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/work/known_answers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "client-lib/cuda/objects/contexts.h"
#include "client-lib/cuda/objects/thread.h"
#include "client-lib/cuda/session/box_session.h"
#include "client_calls.h"
#include "common/base/scope.h"

// Above this number of answers of one function, the oldest one goes.
enum { ANSWERS_MAX = 64, ANSWERS_STEP = 16 };

struct known_answer {
    uint64_t about; // handle of the function or kernel
    struct known_question question;
    uint64_t answer;
};

// Kept by a kernel for all of its functions.
struct known_answers {
    uint64_t forgotten; // how often; guarded by lock, as the rest
    uint64_t epoch;     // value of epoch_now() when they were valid
    unsigned count;     // how many were stored since then
    unsigned room;
    struct known_answer list[];
};

static _Atomic uint64_t forgotten;                       // how often everything was
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // protects the objects' answers

// A context that ends takes along what is known of its kernels.
static uint64_t epoch_now(void)
{
    return atomic_load(&forgotten) + atomic_load(&contexts_ended);
}

static bool is_same(const struct known_answer *known, uint64_t about,
                    const struct known_question *question)
{
    const struct known_question *other = &known->question;
    return known->about == about && other->kind == question->kind &&
           other->device == question->device && other->first == question->first &&
           other->second == question->second && other->third == question->third;
}

static struct object *keeper_of(struct object *function)
{
    struct object *kernel = NULL;
    if (function->kind == HANDLE_FUNCTION)
        kernel = object_find(HANDLE_KERNEL, (void *)(uintptr_t)function->function.owner);
    return kernel ? kernel : function;
}

// Returns true if the box of the function could answer.
static bool is_sound(const struct object *function)
{
    struct object *context;
    return thread_context_object(&context) == CUDA_SUCCESS && context_is_sound(context) &&
           !atomic_load(&function->session->lost);
}

bool known_find(struct object *function, const struct known_question *question, uint64_t *answer,
                uint64_t *asked)
{
    uint64_t epoch = epoch_now();
    *asked = 0;
    if (!is_sound(function))
        return false;
    SCOPED_LOCK(&lock);
    const struct known_answers *known = keeper_of(function)->function.answers;
    *asked = epoch + (known ? known->forgotten : 0);
    for (unsigned i = 0; known && known->epoch == epoch && i < known->count && i < known->room;
         i++) {
        if (is_same(&known->list[i], function->handle, question)) {
            *answer = known->list[i].answer;
            return true;
        }
    }
    return false;
}

// Returns the answers of KEEPER with space for one more; NULL if memory has run out. The caller
// holds the lock.
static struct known_answers *answers_with_room(struct object *keeper)
{
    struct known_answers *old = keeper->function.answers;
    unsigned room = old ? old->room + ANSWERS_STEP : ANSWERS_STEP;
    if (old && (old->count < old->room || old->room == ANSWERS_MAX))
        return old;
    struct known_answers *grown = realloc(old, sizeof(*grown) + room * sizeof(grown->list[0]));
    if (!grown)
        return NULL;
    if (!old)
        *grown = (struct known_answers){0};
    grown->room = room;
    keeper->function.answers = grown;
    return grown;
}

// The caller holds the lock.
static void store(struct known_answers *known, uint64_t about,
                  const struct known_question *question, uint64_t answer, uint64_t epoch)
{
    if (known->epoch != epoch) {
        known->epoch = epoch;
        known->count = 0;
    }
    known->list[known->count++ % known->room] = (struct known_answer){about, *question, answer};
}

void known_learn(struct object *function, const struct known_question *question, uint64_t answer,
                 uint64_t asked)
{
    uint64_t epoch = epoch_now();
    SCOPED_LOCK(&lock);
    struct known_answers *known = answers_with_room(keeper_of(function));
    if (known && asked == epoch + known->forgotten)
        store(known, function->handle, question, answer, epoch);
}

static CUresult learn_attributes(struct object *function, CUdevice device, uint64_t asked)
{
    struct wire_function_attributes attributes = {0};
    size_t size = 0;
    CUresult result = remote_function_attributes((CUfunction)(uintptr_t)function->handle, device,
                                                 &attributes, sizeof(attributes), &size);
    if (result != CUDA_SUCCESS || size != sizeof(attributes))
        return result;
    for (unsigned i = 0; i < CU_FUNC_ATTRIBUTE_MAX; i++)
        if (attributes.known & UINT32_C(1) << i)
            known_learn(function,
                        &(struct known_question){KNOWN_ATTRIBUTE, .device = device, .first = i},
                        (uint64_t)attributes.values[i], asked);
    return CUDA_SUCCESS;
}

bool known_attribute(struct object *function, CUdevice device, CUfunction_attribute name,
                     int *value, CUresult *result)
{
    struct known_question question = {KNOWN_ATTRIBUTE, .device = device, .first = name};
    uint64_t answer, asked;
    bool found = known_find(function, &question, &answer, &asked);
    *result = CUDA_SUCCESS;
    if (!found) {
        if (name >= CU_FUNC_ATTRIBUTE_MAX ||
            !session_knows(function->session, OP_function_attributes))
            return false;
        *result = learn_attributes(function, device, asked);
        if (*result != CUDA_SUCCESS)
            return true;
        found = known_find(function, &question, &answer, &asked);
    }
    if (found)
        *value = (int)answer;
    return found;
}

// Keeps only settings of other attributes.
static void forget_but_settings(struct known_answers *known, const struct known_question *setting)
{
    unsigned stored = known->count < known->room ? known->count : known->room;
    known->forgotten++;
    known->count = 0;
    for (unsigned i = 0; i < stored; i++)
        if (known->list[i].question.kind == KNOWN_SETTING &&
            (!setting || known->list[i].question.first != setting->first))
            known->list[known->count++] = known->list[i];
}

bool known_is_set(struct object *function, const struct known_question *setting, int value,
                  uint64_t *asked)
{
    uint64_t answer;
    *asked = 0;
    return function && known_find(function, setting, &answer, asked) && (int)answer == value;
}

void known_set(struct object *function, const struct known_question *setting, const int *value,
               uint64_t asked)
{
    if (!function)
        return;
    SCOPED_LOCK(&lock);
    struct known_answers *known = answers_with_room(keeper_of(function));
    bool is_newest = known && asked == epoch_now() + known->forgotten;
    // The same kernel has an object in each session.
    if (!known || session_count > 1)
        atomic_fetch_add(&forgotten, 1);
    if (!known)
        return;
    forget_but_settings(known, setting);
    if (setting && value && is_newest)
        store(known, function->handle, setting, (uint64_t)*value, epoch_now());
}

struct object *known_function(const void *handle, CUdevice *device)
{
    struct object *function = object_find(HANDLE_FUNCTION, handle), *context;
    *device = 0;
    if (function || !(function = object_find(HANDLE_KERNEL, handle)))
        return function;
    if (thread_context_object(&context) != CUDA_SUCCESS)
        return NULL;
    *device = context->ctx.device;
    return function;
}
