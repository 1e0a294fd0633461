// SPDX-License-Identifier: BSD-3-Clause
// Keeps the attributes of streams. On a GPU they tune caches and waiting; here they have no effect.
#include <string.h>

#include "common/base/scope.h"
#include "sim/engine/stream.h"

// Reads an attribute. Called under the stream's lock.
static CUresult read_attribute(const struct stream *stream, CUstreamAttrID attribute,
                               CUstreamAttrValue *value)
{
    memset(value, 0, sizeof(*value));
    switch ((int)attribute) {
    case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        value->accessPolicyWindow = stream->policy_window;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        value->syncPolicy = stream->synchronization_policy;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_PRIORITY: value->priority = stream->priority; return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        value->memSyncDomainMap = stream->domain_map;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
        value->memSyncDomain = stream->domain;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

// Stores an attribute; a priority has no effect. Called under the stream's lock.
static CUresult write_attribute(struct stream *stream, CUstreamAttrID attribute,
                                const CUstreamAttrValue *value)
{
    switch ((int)attribute) {
    case CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW:
        stream->policy_window = value->accessPolicyWindow;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY:
        SIM_RETURN_IF(value->syncPolicy < CU_SYNC_POLICY_AUTO ||
                          value->syncPolicy > CU_SYNC_POLICY_BLOCKING_SYNC,
                      CUDA_ERROR_INVALID_VALUE);
        stream->synchronization_policy = value->syncPolicy;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_PRIORITY: return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
        stream->domain_map = value->memSyncDomainMap;
        return CUDA_SUCCESS;
    case CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN:
        stream->domain = value->memSyncDomain;
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

static CUresult stream_attribute_get(CUstream handle, CUstreamAttrID attribute,
                                     CUstreamAttrValue *value)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (value) {
        SCOPED_LOCK(&stream->lock);
        result = read_attribute(stream, attribute, value);
    }
    return result;
}

static CUresult stream_attribute_set(CUstream handle, CUstreamAttrID attribute,
                                     const CUstreamAttrValue *value)
{
    SCOPED_OBJECT struct stream *stream = NULL;
    SIM_TRY(stream_get(handle, &stream));
    CUresult result = CUDA_ERROR_INVALID_VALUE;
    if (value) {
        SCOPED_LOCK(&stream->lock);
        result = write_attribute(stream, attribute, value);
    }
    return result;
}

static CUresult stream_attribute_copy(CUstream to, CUstream from)
{
    static const CUstreamAttrID attributes[] = {
        CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW,
        CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY,
        CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
        CU_STREAM_ATTRIBUTE_MEM_SYNC_DOMAIN,
    };
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        CUstreamAttrValue value;
        SIM_TRY(stream_attribute_get(from, attributes[i], &value));
        SIM_TRY(stream_attribute_set(to, attributes[i], &value));
    }
    return CUDA_SUCCESS;
}

SIM_CALL(cuStreamGetAttribute,
         (CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue *value),
         stream_attribute_get(stream, attribute, value))
SIM_CALL(cuStreamSetAttribute,
         (CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue *value),
         stream_attribute_set(stream, attribute, value))
SIM_API(cuStreamCopyAttributes, CUstream to, CUstream from)
{
    return stream_attribute_copy(to, from);
}

SIM_API(cuStreamCopyAttributes_ptsz, CUstream to, CUstream from)
{
    return stream_attribute_copy(to ? to : CU_STREAM_PER_THREAD,
                                 from ? from : CU_STREAM_PER_THREAD);
}
