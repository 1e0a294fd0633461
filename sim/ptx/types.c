// SPDX-License-Identifier: BSD-3-Clause
// Defines the fundamental types of PTX.
#include "sim/ptx/compiled_module.h"

#include <string.h>

const struct type_info type_table[TY_COUNT] = {
    [TY_NONE] = {"", 0, 0},           [TY_PRED] = {"pred", 0, 'p'},
    [TY_B8] = {"b8", 1, 'b'},         [TY_B16] = {"b16", 2, 'b'},
    [TY_B32] = {"b32", 4, 'b'},       [TY_B64] = {"b64", 8, 'b'},
    [TY_B128] = {"b128", 16, 'b'},    [TY_U8] = {"u8", 1, 'u'},
    [TY_U16] = {"u16", 2, 'u'},       [TY_U32] = {"u32", 4, 'u'},
    [TY_U64] = {"u64", 8, 'u'},       [TY_S8] = {"s8", 1, 's'},
    [TY_S16] = {"s16", 2, 's'},       [TY_S32] = {"s32", 4, 's'},
    [TY_S64] = {"s64", 8, 's'},       [TY_F16] = {"f16", 2, 'f'},
    [TY_BF16] = {"bf16", 2, 'f'},     [TY_F32] = {"f32", 4, 'f'},
    [TY_F64] = {"f64", 8, 'f'},       [TY_F16X2] = {"f16x2", 4, 'f'},
    [TY_BF16X2] = {"bf16x2", 4, 'f'}, [TY_U16X2] = {"u16x2", 4, 'x'},
    [TY_S16X2] = {"s16x2", 4, 'x'},
};

enum type type_by_name(const char *name, size_t len)
{
    for (int t = TY_PRED; t < TY_COUNT; t++)
        if (strlen(type_table[t].name) == len && !memcmp(type_table[t].name, name, len))
            return t;
    return TY_NONE;
}
