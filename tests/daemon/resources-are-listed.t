#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The page on security has a row for each resource that is bounded for sessions, leases and the box, with what a refusal says.
. "$(dirname "$0")/../lib.sh"

rows() { tr '\n' ' ' <"$TOP/daemon/rgpud/box/limits.c" | grep -oE '\[LIMITED_[A-Z_]+\] = \{[^}]*' | sed -E 's/.*\{"([^"]*)",[^"]*"([^"]*)".*/\1|\2/'; }
page() { sed -n '/^### Floods$/,/^Before a client/s/^| `\([a-z-]*\)` |.*| \([^|]*\) |$/\1|\2/p' "$TOP/docs/admin/security.md"; }

like "$(rows)" '^exports\|' "the rows can be read"
is "$(page)" "$(rows)" "the page lists each resource, and its refusal"
done_testing
