// SPDX-License-Identifier: BSD-3-Clause
// A list of (context, key, value) under one lock: a library has only a few entries in each context.
#include "common/driver/context_storage.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/base/scope.h"

struct stored_value {
    struct stored_value *next;
    CUcontext context;
    void *key;
    void *value;
    context_storage_destructor destructor;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stored_value *entries;

CUresult cuCtxGetCurrent(CUcontext *context);

static CUresult context_storage_resolve(CUcontext *context)
{
    if (*context)
        return CUDA_SUCCESS;
    CUresult result = cuCtxGetCurrent(context);
    if (result == CUDA_SUCCESS && !*context)
        result = CUDA_ERROR_INVALID_CONTEXT;
    return result;
}

// The link that points at the entry, or at NULL at the end of the list. The lock is held.
static struct stored_value **context_storage_find(CUcontext context, const void *key)
{
    struct stored_value **link = &entries;
    while (*link && ((*link)->context != context || (*link)->key != key))
        link = &(*link)->next;
    return link;
}

CUresult context_storage_put(CUcontext context, void *key, void *value,
                             context_storage_destructor destructor)
{
    CUresult result = context_storage_resolve(&context);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_FREE struct stored_value *entry = malloc(sizeof *entry);
    if (!entry)
        return CUDA_ERROR_OUT_OF_MEMORY;
    SCOPED_LOCK(&lock);
    if (*context_storage_find(context, key))
        return CUDA_ERROR_INVALID_HANDLE;
    *entry = (struct stored_value){entries, context, key, value, destructor};
    entries = scoped_take(&entry);
    return CUDA_SUCCESS;
}

CUresult context_storage_delete(CUcontext context, void *key)
{
    CUresult result = context_storage_resolve(&context);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_FREE struct stored_value *entry = NULL;
    SCOPED_LOCK(&lock);
    struct stored_value **link = context_storage_find(context, key);
    if (!*link)
        return CUDA_ERROR_INVALID_HANDLE;
    entry = *link;
    *link = entry->next;
    return CUDA_SUCCESS;
}

CUresult context_storage_get(void **value, CUcontext context, void *key)
{
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = context_storage_resolve(&context);
    if (result != CUDA_SUCCESS)
        return result;
    SCOPED_LOCK(&lock);
    const struct stored_value *entry = *context_storage_find(context, key);
    if (entry)
        *value = entry->value;
    return entry ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static struct stored_value *take_all_of(CUcontext context)
{
    struct stored_value *gone = NULL, **gone_end = &gone;
    SCOPED_LOCK(&lock);
    for (struct stored_value **link = &entries; *link;) {
        struct stored_value *entry = *link;
        if (entry->context != context) {
            link = &entry->next;
            continue;
        }
        *link = entry->next;
        entry->next = NULL;
        *gone_end = entry;
        gone_end = &entry->next;
    }
    return gone;
}

// Destructors may call these functions.
void context_storage_drop(CUcontext context)
{
    struct stored_value *gone = take_all_of(context);
    while (gone) {
        struct stored_value *entry = gone;
        gone = entry->next;
        if (entry->destructor)
            entry->destructor(entry->context, entry->key, entry->value);
        free(entry);
    }
}
