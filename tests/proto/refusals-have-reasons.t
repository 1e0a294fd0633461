#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A call that is not carried says why: in the list, in the coverage page, and in the log of who makes it.
. "$(dirname "$0")/../lib.sh"

generate() { python3 -B "$TOP/proto/generate" "$@"; }
list='protocol calls 1\nrefused cuOld* cuNew: nobody needs it\n'
printf "$list"'1 unsupported cuOldThing 2000 (int x)\n2 unsupported cuNew 2000 ()\n' >"$TMP/spec"
like "$(generate "$TMP/spec" api-coverage.md)" '^\| `cuOldThing` .*\| nobody needs it \|$' "the page has the reason of a group"
like "$(generate "$TMP/spec" api_unsupported.c)" '^UNSUPPORTED\(cuNew, "nobody needs it"\)$' "and so has the library"
printf "$list"'1 unsupported cuOther 2000 (int x)\n' >"$TMP/spec"
fails "a call without a reason stops the build" generate "$TMP/spec" api-coverage.md
like "$(cat "$TMP/ok.out")" "$TMP/spec:3: cuOther is unsupported, and no line says why" "by its name"
printf 'protocol calls 1\nrefused cuOld*\n' >"$TMP/spec"
fails "a group without a reason does so, too" generate "$TMP/spec" api-coverage.md
unlike "$(generate "$TOP/proto/cuda.spec" api-coverage.md)" '\| unsupported \|[^|]*\| *\|' \
    "no line of the coverage page lacks one"
done_testing
