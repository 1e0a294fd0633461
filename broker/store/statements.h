// SPDX-License-Identifier: BSD-3-Clause
// SQL statements of the broker. These words are replaced by text from the statement's `columns`:
//
// {columns}   names of all columns; comes first if rows are read
// {values}    parameters :name of all columns
// {said}, {changes}, {steered}   name = :name of the columns with the role COLUMN_SAID, ...
#ifndef RGPU_BROKER_STATEMENTS_H
#define RGPU_BROKER_STATEMENTS_H

#include "broker/pool/columns.h"

enum statement {
    BEGIN,
    COMMIT,
    ADD_EVENT,
    PUT_BOX,
    PUT_GPU,
    DELETE_GPU,
    DELETE_BOX,
    BOX_DRAINED,
    GPU_DRAINED,
    GPU_MODE,
    GPU_PRESENT,
    INSERT_LEASE,
    UPDATE_LEASE,
    INSERT_HOLD,
    RELEASE_HOLD,
    PUT_HOLD,
    TARGET_HOLD,
    SHIFT_EXPIRY,
    KEEP_USAGE,
    TRIM_LEASES,
    TRIM_USAGE,
    TRIM_REPEATED_EVENTS,
    TRIM_LEASE_EVENTS,
    TRIM_OTHER_EVENTS,
    PROBE,
    LOAD_BOXES,
    LOAD_GPUS,
    LOAD_LEASES,
    HOLDS,
    LAST_EVENT,
    ENDED_BY_ID,
    ENDED_BY_KEY,
    ENDED_LIST,
    REVOCATIONS,
    EVENTS,
    EVENTS_ABOUT,
    SCHEDULER_EVENTS,
    EPOCH,
    EPOCH_AT,
    ADD_EPOCH,
    ADD_RUN,
    END_OF_RUN,
    USAGE,
    ADD_BUSY_HOUR,
    PUT_BUSY_COUNT,
    BUSY_OF_LEASE,
    BUSY_OF_LIVE,
    STATEMENT_COUNT
};

extern const struct statement_text {
    const char *sql;
    const struct column *columns; // table of columns.h, or NULL
} statement_texts[];

// Returns the SQL with these words replaced. The caller frees it. NULL if memory is exhausted.
char *statement_expand(const struct statement_text *text);

#endif
