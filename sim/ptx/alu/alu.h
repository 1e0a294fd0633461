// SPDX-License-Identifier: BSD-3-Clause
// Declares the tables of arithmetic operations and the constants of some operations.
#ifndef RGPU_SIM_PTX_ALU_H
#define RGPU_SIM_PTX_ALU_H

#include "sim/ptx/compiled_module.h"

extern const struct alu_row alu_rows_base[]; // ends with a NULL key
extern const struct alu_row alu_rows_v3[];   // the same rows with AVX2 and FMA; x86-64 only
extern const struct alu_row alu_rows_slow[]; // other roundings and rare conversions

enum { PRMT_INDEX, PRMT_F4E, PRMT_B4E, PRMT_RC8, PRMT_ECL, PRMT_ECR, PRMT_RC16 };
enum { DOT_A_SIGNED = 1, DOT_B_SIGNED = 2, DOT_HIGH = 4 };

// "video": imm is an operation, the number of parts, and flags.
enum { VIDEO_ADD, VIDEO_SUB, VIDEO_AVERAGE, VIDEO_ABSDIFF, VIDEO_MIN, VIDEO_MAX };
enum { VIDEO_D_SIGNED = 1, VIDEO_A_SIGNED = 2, VIDEO_B_SIGNED = 4, VIDEO_SAT = 8, VIDEO_SUM = 16 };
#define VIDEO(op, parts, flags) ((uint32_t)(op) | (uint32_t)(parts) << 8 | (uint32_t)(flags) << 16)

// "round.f32" and "round.f64": imm is an operation and a rounding.
enum { ROUNDED_ADD, ROUNDED_SUB, ROUNDED_MUL, ROUNDED_FMA, ROUNDED_DIV, ROUNDED_RCP, ROUNDED_SQRT };
#define ROUNDED(op, mode) ((uint32_t)(op) | (uint32_t)(mode) << 8)

// "convert.<d><a>": imm packs both types, the rounding, and flags.
enum { CONVERT_FTZ = 1, CONVERT_SAT = 2, CONVERT_RELU = 4, CONVERT_INTEGRAL = 8 };
#define CONVERT(to, from, mode, flags) \
    ((uint32_t)(to) | (uint32_t)(from) << 8 | (uint32_t)(mode) << 16 | (uint32_t)(flags) << 24)

// "scan.b64" and "scan.b32": the addresses of a warp's lanes, and the values that all checks use. c
// is the offset to add, imm the bytes that each lane accesses.
struct address_scan {
    uint64_t address[LANES];
    uint64_t low, high;
    uint64_t any;    // all bits that are set in some address
    uint64_t gaps;   // 0: each lane's bytes follow the previous lane's
    uint64_t spread; // 0: all lanes have the same address
};

#endif
