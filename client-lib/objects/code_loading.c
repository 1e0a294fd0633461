// SPDX-License-Identifier: BSD-3-Clause
#include "client-lib/objects/code_loading.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "client-lib/objects/thread.h"
#include "client-lib/session/box_session.h"
#include "client_calls.h"

enum { SMALL_IMAGE = 1 << 20 }; // its functions are loaded in some milliseconds

static CUmoduleLoadingMode mode;

static void read_mode(void)
{
    const char *wanted = getenv("CUDA_MODULE_LOADING");

    mode = wanted && !strcmp(wanted, "EAGER") ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
}

CUmoduleLoadingMode code_loading_mode(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, read_mode);
    return mode;
}

static bool is_due(size_t size, uint16_t request)
{
    struct object *context;

    if (code_loading_mode() != CU_MODULE_EAGER_LOADING && (session_count < 2 || size > SMALL_IMAGE))
        return false;
    return thread_context_object(&context) == CUDA_SUCCESS &&
           session_knows(context->session, request);
}

void module_code_loaded(CUmodule module, size_t size)
{
    if (is_due(size, OP_module_code_load))
        (void)remote_module_code_load(module);
}

void library_code_loaded(CUlibrary library, size_t size)
{
    if (is_due(size, OP_library_code_load))
        (void)remote_library_code_load(library);
}
