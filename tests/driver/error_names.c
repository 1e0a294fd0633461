// SPDX-License-Identifier: BSD-3-Clause
// cuGetErrorName and cuGetErrorString know every result and refuse other numbers.
#include "common/driver/error.h"

#include "tests/tap.h"

#define COUNT(name, value, text) +1
enum { RESULTS = 0 RGPU_CUDA_RESULTS(COUNT) };

#define ROW(name, value, text) name,
static const CUresult results[RESULTS] = {RGPU_CUDA_RESULTS(ROW)};

int main(void)
{
    bool all_named = true, all_told = true;
    for (size_t i = 0; i < RESULTS; i++) {
        const char *text = NULL;
        all_named &= cuda_error_get_name(results[i], &text) == CUDA_SUCCESS && text &&
                     !strncmp(text, "CUDA_", 5);
        all_told &= cuda_error_get_text(results[i], &text) == CUDA_SUCCESS && text && *text;
    }
    ok(RESULTS > 90 && all_named, "each of the %d results has a name", RESULTS);
    ok(all_told, "each has a text");
    is_str(cuda_error_name(CUDA_SUCCESS), "CUDA_SUCCESS", "success has a name");
    is_str(cuda_error_text(CUDA_SUCCESS), "no error", "and a text");
    is_str(cuda_error_name(CUDA_ERROR_OUT_OF_MEMORY), "CUDA_ERROR_OUT_OF_MEMORY",
           "an error's name");
    is_str(cuda_error_text(CUDA_ERROR_ILLEGAL_ADDRESS),
           "a kernel used an address that is not its own", "an error's text");

    const char *text = "untouched";
    is_int(cuda_error_get_name((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE,
           "no name for what is no result");
    ok(!text, "and the pointer is NULL then");
    is_int(cuda_error_get_text((CUresult)-1, &text), CUDA_ERROR_INVALID_VALUE, "nor a text");
    is_int(cuda_error_get_name(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE,
           "nowhere to put the name");
    return done();
}
