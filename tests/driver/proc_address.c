// SPDX-License-Identifier: BSD-3-Clause
// cuGetProcAddress gives the newest ABI that the caller's CUDA version knows, the per-thread form
// only on request, and says why where it gives nothing. Results are those of the 13.0 driver.
#include "common/driver/proc_address.h"

#include "tests/tap.h"

#define SYMBOL(name) \
    static void name(void) \
    { \
    }
SYMBOL(cuAlpha)
SYMBOL(cuCopy)
SYMBOL(cuCopy_v2)
SYMBOL(cuCopy_v2_ptds)
SYMBOL(cuCopy_v3)
SYMBOL(cuCopyMore)
SYMBOL(cuLate)
SYMBOL(cuLate_ptsz)

const struct rgpu_proc_entry rgpu_proc_table[] = {
    {"cuAlpha", 2000, 0, (void *)cuAlpha},   {"cuCopy", 2000, 0, (void *)cuCopy},
    {"cuCopy", 3020, 0, (void *)cuCopy_v2},  {"cuCopy", 7000, 1, (void *)cuCopy_v2_ptds},
    {"cuCopy", 13000, 0, (void *)cuCopy_v3}, {"cuCopyMore", 4000, 0, (void *)cuCopyMore},
    {"cuLate", 11020, 0, (void *)cuLate},    {"cuLate", 11020, 1, (void *)cuLate_ptsz},
};
const size_t rgpu_proc_count = sizeof rgpu_proc_table / sizeof *rgpu_proc_table;

static const cuuint64_t legacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
static const cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

static void gives(const char *name, int version, cuuint64_t flags, void (*want)(void),
                  const char *what)
{
    void *got = NULL;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    CUresult result = proc_address_get(name, &got, version, flags, &status);
    ok(result == CUDA_SUCCESS && got == (void *)want && status == CU_GET_PROC_ADDRESS_SUCCESS, "%s",
       what);
}

static void lacks(const char *name, int version, cuuint64_t flags,
                  CUdriverProcAddressQueryResult want, const char *what)
{
    void *got = &got;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = proc_address_get(name, &got, version, flags, &status);
    ok(result == CUDA_SUCCESS && !got && status == want, "%s", what);
}

static void check_old_form(void)
{
    void *got = NULL;
    is_int(proc_address_get_v1("cuCopy", &got, 3020, 0), CUDA_SUCCESS, "the old form finds");
    ok(got == (void *)cuCopy_v2, "the same function");
    is_int(proc_address_get_v1("cuZeta", &got, 3020, 0), CUDA_ERROR_NOT_FOUND,
           "it fails where there is none");
    ok(got == (void *)cuCopy_v2, "and leaves the pointer alone");
    is_int(proc_address_get_v1("cuLate", &got, 3020, 0), CUDA_ERROR_NOT_FOUND,
           "also for a later function");
    is_int(proc_address_get_v1("cuLate", &got, 3020, 4), CUDA_ERROR_INVALID_VALUE,
           "an unknown flag");
}

static void check_arguments(void)
{
    void *got = &got;
    is_int(proc_address_get("cuZeta", &got, 13000, 0, NULL), CUDA_SUCCESS,
           "nobody has to ask for the reason");
    ok(!got, "the pointer is NULL then");
    is_int(proc_address_get(NULL, &got, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE, "no name");
    is_int(proc_address_get("cuAlpha", NULL, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE,
           "nowhere to put the function");
    is_int(proc_address_get("cuAlpha", &got, 13000, 4, NULL), CUDA_ERROR_INVALID_VALUE,
           "an unknown flag");
    is_int(proc_address_get("cuAlpha", &got, CUDA_VERSION + 10, 0, NULL), CUDA_ERROR_INVALID_VALUE,
           "a caller newer than the driver");
    ok(!got, "nothing is written then");
}

int main(void)
{
    gives("cuAlpha", 13000, 0, cuAlpha, "a function of one version, to a newer caller");
    gives("cuCopy", 2000, 0, cuCopy, "the first ABI, to the oldest caller");
    gives("cuCopy", 3019, 0, cuCopy, "still the first just before the second");
    gives("cuCopy", 3020, 0, cuCopy_v2, "the second from its version on");
    gives("cuCopy", 12080, 0, cuCopy_v2, "and up to the third");
    gives("cuCopy", 13000, legacy, cuCopy_v3, "the third, to a caller as new as it");
    gives("cuCopy", 12080, per_thread, cuCopy_v2_ptds, "the per-thread form where asked for");
    gives("cuCopy", 12080, per_thread | legacy, cuCopy_v2, "the legacy form where both are");
    gives("cuAlpha", 12080, per_thread, cuAlpha, "a function that has no per-thread form");
    gives("cuLate", 11020, legacy, cuLate, "the legacy form of two of the same age");
    gives("cuLate", 11020, per_thread, cuLate_ptsz, "the per-thread form of the two");

    lacks("cuCop", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "a part of a name is not found");
    lacks("", 0, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "nor is the empty name");
    lacks("cuZeta", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "nor one behind the last");
    lacks("cuCopy_v2", 13000, 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "nor a name with a suffix");
    lacks("cuLate", 11010, 0, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
          "a later function says that the version is the reason");
    lacks("cuCopy", 5000, per_thread, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
          "so does a per-thread form that is later than the function");
    check_arguments();
    check_old_form();
    return done();
}
