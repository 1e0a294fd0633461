// SPDX-License-Identifier: BSD-3-Clause
// Compiles alu.c for CPUs with AVX2, FMA, BMI and F16C.
#define ALU_TABLE alu_rows_v3
#include "sim/ptx/alu/alu.c"
