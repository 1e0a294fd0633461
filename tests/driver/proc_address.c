// cuGetProcAddress gives the newest ABI that the caller's CUDA version knows, the per-thread form
// only on request, the exact symbol for a name with a suffix, and says why where it gives nothing.
#include "common/driver/proc_address.h"

#include "tests/tap.h"

#define SYMBOL(name) \
    __attribute__((visibility("default"))) void name(void); \
    void name(void) {}
SYMBOL(cuAlpha)
SYMBOL(cuCopy)
SYMBOL(cuCopy_v2)
SYMBOL(cuCopy_v2_ptds)
SYMBOL(cuCopy_v3)
SYMBOL(cuCopyMore)
SYMBOL(cuLate)
SYMBOL(cuLate_ptsz)

const struct rgpu_proc_entry rgpu_proc_table[] = {
    {"cuAlpha", 2000, 0, (void *)cuAlpha},
    {"cuCopy", 2000, 0, (void *)cuCopy},
    {"cuCopy", 3020, 0, (void *)cuCopy_v2},
    {"cuCopy", 7000, 1, (void *)cuCopy_v2_ptds},
    {"cuCopy", 13000, 0, (void *)cuCopy_v3},
    {"cuCopyMore", 4000, 0, (void *)cuCopyMore},
    {"cuLate", 11020, 0, (void *)cuLate},
    {"cuLate", 11020, 1, (void *)cuLate_ptsz},
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
    ok(result == CUDA_SUCCESS && got == (void *)want && status == CU_GET_PROC_ADDRESS_SUCCESS,
       "%s", what);
}

static void lacks(const char *name, int version, CUdriverProcAddressQueryResult want,
                  const char *what)
{
    void *got = &got;
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    CUresult result = proc_address_get(name, &got, version, 0, &status);
    ok(result == CUDA_ERROR_NOT_FOUND && !got && status == want, "%s", what);
}

int main(void)
{
    gives("cuAlpha", 13000, 0, cuAlpha, "a function of one version, to a newer caller");
    gives("cuCopy", 2000, 0, cuCopy, "the first ABI, to the oldest caller");
    gives("cuCopy", 3019, 0, cuCopy, "still the first just before the second");
    gives("cuCopy", 3020, 0, cuCopy_v2, "the second from its version on");
    gives("cuCopy", 12080, 0, cuCopy_v2, "and up to the third");
    gives("cuCopy", 13040, legacy, cuCopy_v3, "the third, to a caller newer than the table");
    gives("cuCopy", 12080, per_thread, cuCopy_v2_ptds, "the per-thread form where asked for");
    gives("cuCopy", 5000, per_thread, cuCopy_v2, "but not before it existed");
    gives("cuAlpha", 12080, per_thread, cuAlpha, "nor where there is none");
    gives("cuLate", 11020, legacy, cuLate, "the legacy form of two of the same age");
    gives("cuLate", 11020, per_thread, cuLate_ptsz, "the per-thread form of the two");
    gives("cuCopy_v2", 13000, 0, cuCopy_v2, "a name with its version means that symbol");
    gives("cuLate_ptsz", 13000, 0, cuLate_ptsz, "and so does one with its stream suffix");

    lacks("cuCop", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "a part of a name is not found");
    lacks("", 0, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "nor is the empty name");
    lacks("cuZeta", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "nor one behind the last");
    lacks("cuCopy_v9", 13000, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "nor a version that is none");
    lacks("cuLate", 11010, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT,
          "a later function says that the version is the reason");

    void *got = NULL;
    is_int(proc_address_get("cuAlpha", &got, 13000, 0, NULL), CUDA_SUCCESS,
           "nobody has to ask for the reason");
    is_int(proc_address_get(NULL, &got, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE, "no name");
    is_int(proc_address_get("cuAlpha", NULL, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE,
           "nowhere to put the function");
    is_int(proc_address_get("cuAlpha", &got, 13000, 4, NULL), CUDA_ERROR_INVALID_VALUE,
           "an unknown flag");
    return done();
}
