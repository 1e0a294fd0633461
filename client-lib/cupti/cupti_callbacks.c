// SPDX-License-Identifier: BSD-3-Clause
// CUPTI's callbacks. A program may subscribe, but gets no callbacks for calls, which would need the
// parameters of libcuda's calls in CUPTI's layout: enabling them is refused with an error. Domains
// of rare events can be enabled, as profilers do in advance; these events are not reported.
#include <stdatomic.h>

#include "client-lib/cupti/cupti_calls.h"
#include "client-lib/cupti/cupti_link.h"

static struct cupti_subscriber {
    atomic_bool there;
} subscriber;

static CUptiResult cupti_callbacks_subscribe(struct cupti_subscriber **out,
                                             CUpti_CallbackFunc function)
{
    bool there = false;
    if (!out || !function)
        return CUPTI_ERROR_INVALID_PARAMETER;
    if (!cupti_link())
        return CUPTI_ERROR_NOT_INITIALIZED;
    if (!atomic_compare_exchange_strong(&subscriber.there, &there, true))
        return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
    *out = &subscriber;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiSubscribe, struct cupti_subscriber **out, CUpti_CallbackFunc function,
             void *argument)
{
    return cupti_callbacks_subscribe(out, function);
}

CUPTI_EXPORT(cuptiSubscribe_v2, struct cupti_subscriber **out, CUpti_CallbackFunc function,
             void *argument, void *parameters)
{
    return cupti_callbacks_subscribe(out, function);
}

static bool is_subscriber(const struct cupti_subscriber *who)
{
    return who == &subscriber && atomic_load(&subscriber.there);
}

CUPTI_EXPORT(cuptiUnsubscribe, struct cupti_subscriber *who)
{
    if (!is_subscriber(who))
        return CUPTI_ERROR_INVALID_PARAMETER;
    atomic_store(&subscriber.there, false);
    return CUPTI_SUCCESS;
}

static CUptiResult cupti_callbacks_enable(uint32_t enabled, const struct cupti_subscriber *who,
                                          CUpti_CallbackDomain domain)
{
    if (!is_subscriber(who) || domain < CUPTI_CB_DOMAIN_DRIVER_API ||
        domain >= CUPTI_CB_DOMAIN_SIZE)
        return CUPTI_ERROR_INVALID_PARAMETER;
    bool of_calls = domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API;
    return enabled && of_calls ? CUPTI_ERROR_NOT_SUPPORTED : CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiEnableCallback, uint32_t enabled, struct cupti_subscriber *who,
             CUpti_CallbackDomain domain, uint32_t call)
{
    return cupti_callbacks_enable(enabled, who, domain);
}

CUPTI_EXPORT(cuptiEnableDomain, uint32_t enabled, struct cupti_subscriber *who,
             CUpti_CallbackDomain domain)
{
    return cupti_callbacks_enable(enabled, who, domain);
}

CUPTI_EXPORT(cuptiEnableAllDomains, uint32_t enabled, struct cupti_subscriber *who)
{
    return cupti_callbacks_enable(enabled, who, CUPTI_CB_DOMAIN_DRIVER_API);
}

CUPTI_EXPORT(cuptiGetCallbackState, uint32_t *enabled, struct cupti_subscriber *who,
             CUpti_CallbackDomain domain, uint32_t call)
{
    if (!enabled || !is_subscriber(who))
        return CUPTI_ERROR_INVALID_PARAMETER;
    *enabled = 0;
    return CUPTI_SUCCESS;
}

CUPTI_EXPORT(cuptiGetCallbackName, CUpti_CallbackDomain domain, uint32_t call, const char **name)
{
    if (!name)
        return CUPTI_ERROR_INVALID_PARAMETER;
    *name = domain == CUPTI_CB_DOMAIN_DRIVER_API    ? driver_call_name(call)
            : domain == CUPTI_CB_DOMAIN_RUNTIME_API ? runtime_call_name(call)
                                                    : NULL;
    return *name ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}
