// SPDX-License-Identifier: BSD-3-Clause
#include "broker/pool/outcome.h"

#include <errno.h>

#define OUTCOME_ROW_(name, status, code, text) [name] = {status, code, text},
const struct outcome_row outcomes[] = {OUTCOMES(OUTCOME_ROW_)};

// A quota, or a limit on the size of files, counts as a full disk.
enum outcome outcome_of(int error)
{
    switch (error) {
    case 0: return OUTCOME_DONE;
    case -ENOSPC:
    case -EDQUOT:
    case -EFBIG: return OUTCOME_DISK_FULL;
    case -ENOMEM: return OUTCOME_NO_MEMORY;
    case -EBUSY: return OUTCOME_DATABASE_BUSY;
    case -EUCLEAN: return OUTCOME_DATABASE_DAMAGED;
    }
    return OUTCOME_FAILED;
}
