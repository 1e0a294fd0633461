// SPDX-License-Identifier: BSD-3-Clause
#include "sim/graph/user_object.h"

#include <signal.h>
#include <stdlib.h>

#include "common/base/log.h"
#include "sim/graph/graph.h"

struct held_object {
    // one reference stands for all references of the program and the graphs
    struct sim_object object;
    uint64_t references;
    void *resource;
    CUhostFn destroy;
    struct held_object *next_ended;
};

struct retained {
    struct retained *next;
    struct held_object *user;
    uint64_t count;
};

// Objects without references whose functions have not been called. Under graph_mutex.
static struct held_object *ended;
static bool ending; // a thread calls the functions

static void free_user(struct sim_object *object)
{
    free(object);
}

// Calls the program's functions, without a lock and on a thread that no work depends on.
static void *end_users(void *unused)
{
    for (;;) {
        pthread_mutex_lock(&graph_mutex);
        struct held_object *user = ended;
        ended = NULL;
        ending = user;
        pthread_mutex_unlock(&graph_mutex);
        if (!user)
            return NULL;
        while (user) {
            struct held_object *next = user->next_ended;
            sim_set_in_callback(true);
            user->destroy(user->resource);
            sim_set_in_callback(false);
            object_put(&user->object);
            user = next;
        }
    }
}

static void start_ending(void)
{
    sigset_t all, before;
    pthread_t thread;
    if (ending)
        return;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, end_users, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error) {
        log_error("cannot start the thread that ends user objects, error=%d", error);
        return; // the next release tries again
    }
    pthread_detach(thread);
    ending = true;
}

// Drops references. Called under the lock.
static void user_object_release(struct held_object *user, uint64_t count)
{
    user->references -= count;
    if (user->references)
        return;
    (void)handle_revoke(&user->object);
    user->next_ended = ended;
    ended = user;
    start_ending();
}

static struct retained **user_object_find(struct retained **users, const struct held_object *user)
{
    while (*users && (*users)->user != user)
        users = &(*users)->next;
    return users;
}

// Adds to the list references that are counted already.
static CUresult user_object_retain(struct retained **users, struct held_object *user,
                                   uint64_t count)
{
    struct retained **place = user_object_find(users, user);
    if (!*place) {
        *place = calloc(1, sizeof(**place));
        SIM_RETURN_IF(!*place, CUDA_ERROR_OUT_OF_MEMORY);
        (*place)->user = user;
    }
    (*place)->count += count;
    return CUDA_SUCCESS;
}

void users_drop_all(struct retained **users)
{
    while (*users) {
        struct retained *first = *users;
        *users = first->next;
        user_object_release(first->user, first->count);
        free(first);
    }
}

CUresult users_copy(const struct retained *from, struct retained **to)
{
    for (; from; from = from->next) {
        SIM_TRY(user_object_retain(to, from->user, 1));
        from->user->references++;
    }
    return CUDA_SUCCESS;
}

SIM_API(cuUserObjectCreate, CUuserObject *out, void *resource, CUhostFn destroy, unsigned int count,
        unsigned int flags)
{
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(!out || !destroy || !count || count > INT32_MAX ||
                      flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC,
                  CUDA_ERROR_INVALID_VALUE);
    struct held_object *user = calloc(1, sizeof(*user));
    SIM_RETURN_IF(!user, CUDA_ERROR_OUT_OF_MEMORY);
    object_init(&user->object, OBJECT_USER, NULL, free_user);
    user->references = count;
    user->resource = resource;
    user->destroy = destroy;
    CUresult result = handle_publish(&user->object);
    if (result)
        object_put(&user->object);
    else
        *out = object_handle(&user->object);
    return result;
}

// Looks up a user object, borrowed under the lock.
static CUresult user_find(CUuserObject handle, unsigned count, struct held_object **out)
{
    struct held_object *user = handle_get(OBJECT_USER, handle);
    SIM_RETURN_IF(!user, CUDA_ERROR_INVALID_VALUE);
    object_put(&user->object);
    *out = user;
    return count && count <= INT32_MAX ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM_API(cuUserObjectRetain, CUuserObject handle, unsigned int count)
{
    struct held_object *user;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(user_find(handle, count, &user));
    user->references += count;
    return CUDA_SUCCESS;
}

SIM_API(cuUserObjectRelease, CUuserObject handle, unsigned int count)
{
    struct held_object *user;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(user_find(handle, count, &user));
    SIM_RETURN_IF(user->references < count, CUDA_ERROR_INVALID_VALUE);
    user_object_release(user, count);
    return CUDA_SUCCESS;
}

SIM_API(cuGraphRetainUserObject, CUgraph graph_handle_, CUuserObject handle, unsigned int count,
        unsigned int flags)
{
    struct graph *graph;
    struct held_object *user;
    SIM_TRY(sim_check_ready());
    SIM_RETURN_IF(flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE, CUDA_ERROR_INVALID_VALUE);
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_find(graph_handle_, &graph));
    SIM_TRY(user_find(handle, count, &user));
    SIM_RETURN_IF(flags && user->references < count, CUDA_ERROR_INVALID_VALUE);
    SIM_TRY(user_object_retain(&graph->users, user, count));
    if (!flags)
        user->references += count;
    return CUDA_SUCCESS;
}

SIM_API(cuGraphReleaseUserObject, CUgraph graph_handle_, CUuserObject handle, unsigned int count)
{
    struct graph *graph;
    struct held_object *user;
    SIM_TRY(sim_check_ready());
    SCOPED_LOCK(&graph_mutex);
    SIM_TRY(graph_find(graph_handle_, &graph));
    SIM_TRY(user_find(handle, count, &user));
    struct retained **place = user_object_find(&graph->users, user), *found = *place;
    if (!found || found->count < count)
        return CUDA_SUCCESS; // the graph keeps its references, as with a driver
    found->count -= count;
    if (!found->count) {
        *place = found->next;
        free(found);
    }
    user_object_release(user, count);
    return CUDA_SUCCESS;
}
