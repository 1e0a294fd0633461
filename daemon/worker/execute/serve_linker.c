// SPDX-License-Identifier: BSD-3-Clause
// The driver's linker. The log buffers of a link state must exist as long as the state, so they are
// in a list besides the driver's object.
#include "daemon/worker/execute/serve_linker.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "common/base/scope.h"
#include "daemon/worker/execute/serve_green.h"
#include "daemon/worker/execute/serve_image.h"
#include "daemon/worker/execute/linker_thread.h"
#include "daemon/worker/copy/parts/print.h"
#include "daemon/worker/copy/parts/wait_for_gpu.h"
#include "daemon/worker/core/session.h"
#include "worker_driver.h"
#include "worker_serve.h"

struct link_state {
    CUlinkState state;
    struct jit_request jit;
    const uint8_t *image; // the driver's, once linking is complete
    size_t size;
    struct link_state *next;
};

static struct link_state *states;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

// One step in the linker's thread.
struct link_step {
    struct link_state *link;
    struct jit_request *jit;
    const struct uploaded_image *input;
    CUjitInputType type;
    void *image;
    size_t size;
    CUresult result;
};

static CUresult take_step(struct serve *serve, void (*run)(void *step), struct link_step *step)
{
    // The thread may be in the middle of another client thread's step.
    serve_let_others_read(serve);
    CUresult result = linker_run(green_root(serve->current), run, step);
    return result == CUDA_SUCCESS ? step->result : result;
}

static void serve_linker_create(void *argument)
{
    struct link_step *step = argument;

    step->result = driver.cuLinkCreate_v2(step->jit->count, step->jit->names, step->jit->values,
                                          &step->link->state);
}

static void serve_linker_add(void *argument)
{
    struct link_step *step = argument;
    const struct uploaded_image *input = step->input;
    // Text is counted with its NUL, which stands behind every image.
    size_t size = input->size +
                  (step->type == CU_JIT_INPUT_PTX && input->data[input->size - 1] != '\0');

    step->result = driver.cuLinkAddData_v2(step->link->state, step->type, input->data, size,
                                           "input", step->jit->count, step->jit->names,
                                           step->jit->values);
}

static void serve_linker_complete(void *argument)
{
    struct link_step *step = argument;

    step->result = driver.cuLinkComplete(step->link->state, &step->image, &step->size);
}

static CUresult (*destroy_now)(CUlinkState state);

static void serve_linker_destroy(void *state)
{
    destroy_now(state);
}

// In place of the driver's own function, which the generated handler calls.
static CUresult destroy_later(CUlinkState state)
{
    CUcontext context = NULL;

    driver.cuCtxGetCurrent(&context);
    return linker_post(context, serve_linker_destroy, state);
}

void linker_prepare(void)
{
    destroy_now = driver.cuLinkDestroy;
    if (destroy_now)
        driver.cuLinkDestroy = destroy_later;
}

static void remember(struct link_state *fresh)
{
    SCOPED_LOCK(&lock);
    // The same address again: the old state was destroyed.
    for (struct link_state **at = &states; *at;) {
        struct link_state *old = *at;
        if (old->state != fresh->state) {
            at = &old->next;
            continue;
        }
        *at = old->next;
        jit_free(&old->jit);
        free(old);
    }
    fresh->next = states;
    states = fresh;
}

static struct link_state *serve_linker_find_state(CUlinkState state)
{
    SCOPED_LOCK(&lock);
    struct link_state *found = states;
    while (found && found->state != state)
        found = found->next;
    return found;
}

static struct link_state *serve_linker_find(struct serve *serve, uint64_t handle)
{
    CUlinkState state = serve_handle(serve, HANDLE_LINK, handle);

    if (serve_failed(serve))
        return NULL;
    struct link_state *found = serve_linker_find_state(state);
    if (!found)
        serve_fail(serve, CUDA_ERROR_INVALID_HANDLE);
    return found;
}

void serve_link_create(struct serve *serve, const struct args_link_create *args)
{
    struct link_state *fresh;

    fresh = calloc(1, sizeof(*fresh));
    if (!fresh) {
        serve_fail(serve, CUDA_ERROR_OUT_OF_MEMORY);
        return;
    }
    if (jit_parse(serve, args + 1, args->bytes, &fresh->jit))
        serve_fail(serve, take_step(serve, serve_linker_create,
                                    &(struct link_step){.link = fresh, .jit = &fresh->jit}));
    if (!serve_failed(serve)) {
        serve_bind(serve, HANDLE_LINK, args->state, fresh->state, serve_context(serve));
        if (serve_failed(serve))
            driver.cuLinkDestroy(fresh->state);
    }
    if (serve_failed(serve)) {
        jit_free(&fresh->jit);
        free(fresh);
        return;
    }
    remember(fresh);
}

// Options of a step: a name for the input is not among what travels, so the linker says "input".
void serve_link_add(struct serve *serve, const struct args_link_add *args)
{
    struct link_state *link = serve_linker_find(serve, args->state);
    struct jit_request jit;

    if (!link || !serve_require(serve, driver.cuLinkAddData_v2))
        return;
    struct uploaded_image *image = image_take(serve, args->image);
    if (!image)
        return;
    if (jit_parse(serve, args + 1, args->bytes, &jit)) {
        serve_fail(serve, take_step(serve, serve_linker_add,
                                    &(struct link_step){.link = link,
                                                        .jit = &jit,
                                                        .input = image,
                                                        .type = (CUjitInputType)args->type}));
        jit_reply(serve, &link->jit, args->reply_room);
    }
    jit_free(&jit);
    if (!serve_failed(serve) && !atomic_load(&session.prints) && image_prints(image))
        print_expect();
    image_put(image);
}

void serve_link_complete(struct serve *serve, const struct args_link_complete *args,
                         struct reply_link_complete *reply)
{
    struct link_state *link = serve_linker_find(serve, args->state);
    struct link_step step = {.link = link};

    if (!link || !serve_require(serve, driver.cuLinkComplete))
        return;
    serve_fail(serve, take_step(serve, serve_linker_complete, &step));
    jit_reply(serve, &link->jit, args->reply_room);
    if (serve_failed(serve))
        return;
    link->image = step.image;
    link->size = step.size;
    reply->size = step.size;
}

void serve_link_read(struct serve *serve, const struct args_link_read *args)
{
    struct link_state *link = serve_linker_find(serve, args->state);

    if (!link)
        return;
    if (!link->image || args->offset > link->size) {
        serve_fail(serve, CUDA_ERROR_INVALID_VALUE);
        return;
    }
    size_t left = link->size - args->offset;
    uint32_t room = serve_reply_room(serve, args->reply_room);
    serve_reply_bytes(serve, link->image + args->offset, left < room ? left : room);
}
