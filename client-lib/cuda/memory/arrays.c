// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/memory/arrays.h"

#include <pthread.h>

#include "client-lib/cuda/memory/kept_memory.h"
#include "client_calls.h"
#include "common/driver/array_element.h"
#include "common/base/scope.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // protects the lists of parts

static struct object *array_object(CUarray array)
{
    return object_find(HANDLE_ARRAY, array);
}

CUresult array_make(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor)
{
    CUarray array;
    CUresult result;
    if (!out || !descriptor)
        return CUDA_ERROR_INVALID_VALUE;
    do
        result = remote_cuArray3DCreate_v2(&array, descriptor);
    while (kept_make_room(result));
    if (result != CUDA_SUCCESS)
        return result;
    array_object(array)->array.descriptor = *descriptor;
    *out = array;
    return CUDA_SUCCESS;
}

CUresult mipmap_make(CUmipmappedArray *out, const CUDA_ARRAY3D_DESCRIPTOR *descriptor,
                     unsigned int levels)
{
    CUmipmappedArray mipmap;
    CUresult result;
    if (!out || !descriptor)
        return CUDA_ERROR_INVALID_VALUE;
    do
        result = remote_cuMipmappedArrayCreate(&mipmap, descriptor, levels);
    while (kept_make_room(result));
    if (result != CUDA_SUCCESS)
        return result;
    object_find(HANDLE_MIPMAP, mipmap)->array.descriptor = *descriptor;
    *out = mipmap;
    return CUDA_SUCCESS;
}

// ---- parts ----

// Detaches the parts from an object before it is destroyed. The box destroys them with it.
static struct object *detach_parts(struct object *whole)
{
    SCOPED_LOCK(&lock);
    struct object *parts = whole ? whole->array.parts : NULL;
    if (whole)
        whole->array.parts = NULL;
    return parts;
}

static void attach_parts(struct object *whole, struct object *parts)
{
    SCOPED_LOCK(&lock);
    whole->array.parts = parts;
}

static void retire_parts(struct object *parts)
{
    while (parts) {
        struct object *next = parts->array.sibling;
        object_retire(HANDLE_ARRAY, parts->handle);
        parts = next;
    }
}

CUresult array_drop(CUarray array)
{
    struct object *object = array_object(array);
    if (object && object->array.whole)
        return CUDA_SUCCESS; // a part ends with its array
    struct object *parts = detach_parts(object);
    CUresult result = remote_cuArrayDestroy(array);
    if (result == CUDA_SUCCESS)
        retire_parts(parts);
    else if (object)
        attach_parts(object, parts);
    return result;
}

CUresult mipmap_drop(CUmipmappedArray mipmap)
{
    struct object *object = object_find(HANDLE_MIPMAP, mipmap);
    struct object *parts = detach_parts(object);
    CUresult result = remote_cuMipmappedArrayDestroy(mipmap);
    if (result == CUDA_SUCCESS)
        retire_parts(parts);
    else if (object)
        attach_parts(object, parts);
    return result;
}

// Returns part NUMBER of WHOLE, NULL if it has not been requested yet. The caller holds the lock.
static struct object *find_part(const struct object *whole, unsigned int number)
{
    struct object *part = whole->array.parts;
    while (part && part->array.number != number)
        part = part->array.sibling;
    return part;
}

// Enters a part that the box has made, and fetches its descriptor from the box. The caller holds
// the lock.
static CUresult enter_part(struct object *whole, unsigned int number, CUarray array)
{
    struct object *part = array_object(array);
    part->array.whole = whole->handle;
    part->array.number = number;
    part->array.sibling = whole->array.parts;
    whole->array.parts = part;
    return remote_cuArray3DGetDescriptor_v2(&part->array.descriptor, array);
}

static CUresult give_part(struct object *whole, unsigned int number, CUarray *out,
                          CUresult (*ask)(CUarray *array, struct object *whole,
                                          unsigned int number))
{
    CUarray array;
    SCOPED_LOCK(&lock);
    const struct object *part = find_part(whole, number);
    if (part) {
        *out = (CUarray)(uintptr_t)part->handle;
        return CUDA_SUCCESS;
    }
    CUresult result = ask(&array, whole, number);
    if (result == CUDA_SUCCESS)
        result = enter_part(whole, number, array);
    if (result == CUDA_SUCCESS)
        *out = array;
    return result;
}

static CUresult ask_level(CUarray *array, struct object *mipmap, unsigned int level)
{
    return remote_cuMipmappedArrayGetLevel(array, (CUmipmappedArray)(uintptr_t)mipmap->handle,
                                           level);
}

static CUresult ask_plane(CUarray *plane, struct object *array, unsigned int number)
{
    return remote_cuArrayGetPlane(plane, (CUarray)(uintptr_t)array->handle, number);
}

CUresult mipmap_level(CUmipmappedArray mipmap, unsigned int level, CUarray *out)
{
    struct object *object = object_find(HANDLE_MIPMAP, mipmap);
    return object ? give_part(object, level, out, ask_level)
                  : object_missing(HANDLE_MIPMAP, mipmap);
}

CUresult array_plane(CUarray array, unsigned int plane, CUarray *out)
{
    struct object *object = array_object(array);
    return object ? give_part(object, plane, out, ask_plane) : object_missing(HANDLE_ARRAY, array);
}

// ---- properties ----

CUresult array_describe(CUarray array, CUDA_ARRAY3D_DESCRIPTOR *out)
{
    const struct object *object = array_object(array);
    if (!object)
        return object_missing(HANDLE_ARRAY, array);
    *out = object->array.descriptor;
    return CUDA_SUCCESS;
}

static struct array_element arrays_element_of(const struct object *array)
{
    const CUDA_ARRAY3D_DESCRIPTOR *d = &array->array.descriptor;
    struct array_element element;
    return array_element_find(d->Format, d->NumChannels, &element)
               ? element
               : (struct array_element){.bytes = 1, .block = 1};
}

size_t array_element_bytes(const struct object *array)
{
    return arrays_element_of(array).bytes;
}

static bool within(size_t at, size_t extent, size_t limit)
{
    return at <= limit && extent <= limit - at;
}

CUresult array_holds(CUarray array, const size_t at[3], const size_t extent[3], struct object **out)
{
    struct object *object = array_object(array);
    if (!object)
        return CUDA_ERROR_INVALID_VALUE;
    const CUDA_ARRAY3D_DESCRIPTOR *d = &object->array.descriptor;
    struct array_element element = arrays_element_of(object);
    size_t block = element.block, unit = block > 1 ? element.bytes : 1;
    size_t row = (d->Width + block - 1) / block * element.bytes;
    size_t rows = d->Height ? (d->Height + block - 1) / block : 1;
    if (at[0] % unit || extent[0] % unit || !within(at[0], extent[0], row) ||
        !within(at[1], extent[1], rows) || !within(at[2], extent[2], d->Depth ? d->Depth : 1))
        return CUDA_ERROR_INVALID_VALUE;
    *out = object;
    return CUDA_SUCCESS;
}
