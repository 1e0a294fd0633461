// SPDX-License-Identifier: BSD-3-Clause
// Limits of an account (ledger.h).
#ifndef RGPU_COMMON_LEDGER_LIMITS_H
#define RGPU_COMMON_LEDGER_LIMITS_H

enum {
    LEDGER_DEVICES = 64,
    LEDGER_LINES = 256,
    LEDGER_FDS = 2, // descriptors of an account, in the order of ledger.h
};

#endif
