// SPDX-License-Identifier: BSD-3-Clause
// Puts a copy of the database in place of the broker's (rgpu-brokerd --restore).
#ifndef RGPU_BROKER_RESTORATION_H
#define RGPU_BROKER_RESTORATION_H

// Checks COPY, begins a new epoch (history.h) in it, and puts it in place of DIRECTORY/pool.sqlite,
// with the owner of DIRECTORY. The replaced database remains as DIRECTORY/replaced.sqlite. Prints a
// summary. Returns 0, or -errno after logging. -EBUSY: a broker runs on DIRECTORY; -EUCLEAN: the
// copy is damaged. After an error the database is as before.
int restoration_run(const char *directory, const char *copy) __attribute__((warn_unused_result));

#endif
