// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/cuda/objects/code_loading.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { SMALL_IMAGE = 1 << 20 }; // loading its functions takes a few milliseconds

static CUmoduleLoadingMode mode;

static void code_loading_read_mode(void)
{
    const char *wanted = secure_getenv("CUDA_MODULE_LOADING");

    mode = wanted && !strcmp(wanted, "EAGER") ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
}

CUmoduleLoadingMode code_loading_mode(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, code_loading_read_mode);
    return mode;
}

bool code_loads_at_once(const struct box_session *session, size_t size, uint16_t request)
{
    return (code_loading_mode() == CU_MODULE_EAGER_LOADING ||
            (session_count > 1 && size <= SMALL_IMAGE)) &&
           session_knows(session, request);
}
