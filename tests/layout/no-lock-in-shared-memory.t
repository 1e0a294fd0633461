#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# No lock of the C library lies in memory that processes share: its lists and owners are pointers and numbers that every
# process which maps the memory can write, and the library follows them.
. "$(dirname "$0")/../lib.sh"

sources() { # directory
    grep -rnE 'PTHREAD_PROCESS_SHARED|_setpshared|_setrobust|sem_init\([^,]*, *[^0 ]|sem_open' "$1" \
        --include='*.[ch]' --exclude-dir=build --exclude-dir=tests
}

is "$(sources "$TOP" | sed "s,^$TOP/,,")" "" "no source shares a lock between processes"
mkdir "$TMP/tree"
echo 'pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);' >"$TMP/tree/x.c"
like "$(sources "$TMP/tree")" 'setrobust' "one that did would be seen"
done_testing
