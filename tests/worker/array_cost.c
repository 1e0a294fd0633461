// SPDX-License-Identifier: BSD-3-Clause
// The worker charges for an array at least the memory that the driver requires and, for small
// arrays, at most the memory that the driver takes. The reference values are those of NVIDIA's
// driver 580 on an H100.
#include "daemon/worker/account/array_cost.h"

#include "tests/tap.h"

// TAKEN: bytes that COUNT such arrays took together, in pages of 2 MiB. WANTED: bytes that one
// requires.
static const struct record {
    CUDA_ARRAY3D_DESCRIPTOR descriptor;
    unsigned levels, count;
    uint64_t taken, wanted;
} records[] = {
    // clang-format off
    {{1, 0, 0, (CUarray_format)0x1, 1, 0x0}, 0, 64, 2097152, 65536},
    {{16, 16, 0, (CUarray_format)0x1, 1, 0x0}, 0, 64, 2097152, 65536},
    {{64, 64, 0, (CUarray_format)0x20, 1, 0x0}, 0, 64, 2097152, 65536},
    {{100, 100, 0, (CUarray_format)0x20, 4, 0x0}, 0, 64, 14680064, 262144},
    {{1000, 1000, 0, (CUarray_format)0x20, 4, 0x0}, 0, 16, 268435456, 16384000},
    {{1024, 1024, 0, (CUarray_format)0x20, 4, 0x0}, 0, 16, 268435456, 16777216},
    {{1000, 1000, 0, (CUarray_format)0x1, 1, 0x0}, 0, 16, 16777216, 1048576},
    {{1000, 1000, 0, (CUarray_format)0x1, 2, 0x0}, 0, 16, 33554432, 2097152},
    {{4096, 4096, 0, (CUarray_format)0x20, 1, 0x0}, 0, 8, 536870912, 67108864},
    {{4095, 4097, 0, (CUarray_format)0x20, 1, 0x0}, 0, 8, 553648128, 69206016},
    {{131072, 0, 0, (CUarray_format)0x20, 4, 0x0}, 0, 16, 268435456, 16777216},
    {{131072, 1, 0, (CUarray_format)0x20, 4, 0x0}, 0, 16, 268435456, 16777216},
    {{1, 65536, 0, (CUarray_format)0x1, 1, 0x0}, 0, 16, 67108864, 4194304},
    {{1, 65536, 0, (CUarray_format)0x20, 4, 0x0}, 0, 16, 67108864, 4194304},
    {{17, 65535, 0, (CUarray_format)0x20, 4, 0x0}, 0, 4, 83886080, 20971520},
    {{64, 64, 64, (CUarray_format)0x20, 1, 0x0}, 0, 16, 16777216, 1048576},
    {{100, 100, 100, (CUarray_format)0x20, 1, 0x0}, 0, 16, 100663296, 5242880},
    {{1, 1, 16384, (CUarray_format)0x1, 1, 0x0}, 0, 4, 33554432, 8388608},
    {{1, 16384, 16, (CUarray_format)0x1, 1, 0x0}, 0, 4, 67108864, 16777216},
    {{4, 4, 16384, (CUarray_format)0x20, 4, 0x0}, 0, 4, 33554432, 8388608},
    {{33, 33, 33, (CUarray_format)0x1, 1, 0x0}, 0, 16, 2097152, 131072},
    {{257, 129, 65, (CUarray_format)0x10, 2, 0x0}, 0, 4, 50331648, 11862016},
    {{64, 0, 2048, (CUarray_format)0x20, 1, 0x1}, 0, 4, 16777216, 4194304},
    {{1, 0, 2048, (CUarray_format)0x1, 1, 0x1}, 0, 4, 4194304, 1048576},
    {{100, 100, 16, (CUarray_format)0x20, 4, 0x1}, 0, 8, 33554432, 3276800},
    {{1, 1, 2048, (CUarray_format)0x1, 1, 0x1}, 0, 4, 4194304, 1048576},
    {{33, 33, 100, (CUarray_format)0x10, 1, 0x1}, 0, 4, 4194304, 851968},
    {{64, 64, 6, (CUarray_format)0x20, 4, 0x4}, 0, 8, 4194304, 393216},
    {{33, 33, 6, (CUarray_format)0x20, 4, 0x4}, 0, 8, 2097152, 262144},
    {{64, 64, 60, (CUarray_format)0x20, 1, 0x5}, 0, 4, 4194304, 983040},
    {{1000, 1000, 0, (CUarray_format)0x20, 4, 0x2}, 0, 8, 134217728, 16384000},
    {{1000, 1000, 0, (CUarray_format)0x20, 4, 0x8}, 0, 8, 134217728, 16384000},
    {{1000, 1000, 0, (CUarray_format)0x91, 4, 0x0}, 0, 8, 4194304, 524288},
    {{1000, 1000, 0, (CUarray_format)0x93, 4, 0x0}, 0, 8, 8388608, 1048576},
    {{1000, 1000, 0, (CUarray_format)0x97, 1, 0x0}, 0, 8, 4194304, 524288},
    {{1000, 1000, 0, (CUarray_format)0x9d, 4, 0x0}, 0, 8, 8388608, 1048576},
    {{1000, 1000, 0, (CUarray_format)0xc2, 4, 0x0}, 0, 8, 33554432, 4128768},
    {{10000, 10000, 0, (CUarray_format)0x20, 4, 0x0}, 0, 1, 1619001344, 1617952768},
    {{1024, 1024, 256, (CUarray_format)0x20, 1, 0x0}, 0, 1, 1073741824, 1073741824},
    {{1024, 1024, 0, (CUarray_format)0x20, 4, 0x0}, 20, 8, 184549376, 22413312},
    {{1000, 1000, 0, (CUarray_format)0x20, 4, 0x0}, 20, 8, 184549376, 21889024},
    {{1, 1, 0, (CUarray_format)0x1, 1, 0x0}, 20, 64, 2097152, 65536},
    {{64, 64, 0, (CUarray_format)0x1, 1, 0x0}, 20, 64, 2097152, 65536},
    {{100, 100, 100, (CUarray_format)0x20, 1, 0x0}, 20, 8, 50331648, 6291456},
    {{100, 100, 16, (CUarray_format)0x20, 4, 0x1}, 20, 8, 50331648, 4456448},
    {{64, 64, 6, (CUarray_format)0x20, 4, 0x4}, 20, 8, 6291456, 589824},
    {{16384, 0, 0, (CUarray_format)0x20, 4, 0x0}, 20, 8, 50331648, 4259840},
    {{333, 777, 0, (CUarray_format)0x10, 2, 0x0}, 20, 8, 16777216, 1703936},
    {{1, 1, 2048, (CUarray_format)0x1, 1, 0x1}, 1, 4, 4194304, 1048576},
    {{1024, 1024, 0, (CUarray_format)0x20, 4, 0x2}, 5, 8, 184549376, 22347776},
    // clang-format on
};

int main(void)
{
    const uint64_t page = 2 << 20, block = 64 << 10;
    unsigned below = 0, small = 0, above = 0;
    for (unsigned i = 0; i < sizeof records / sizeof *records; i++) {
        const struct record *r = &records[i];
        uint64_t most = array_cost_most(&r->descriptor, r->levels);
        below += most < r->wanted && most >= block;
        if (most < block) { // many share a page
            uint64_t fit = page / most, pages = (r->count + fit - 1) / fit;
            small++;
            above += pages * page != r->taken;
        }
    }
    is_int(below, 0, "no array wants more than the bound");
    ok(small >= 5, "there are small ones among them");
    is_int(above, 0, "which take the pages that they are counted as");
    return done();
}
