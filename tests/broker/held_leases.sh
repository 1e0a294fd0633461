# SPDX-License-Identifier: BSD-3-Clause
# Shared by the tests of leases that leave their GPU for a while, or for another. After broker.sh; RGPU_BROKER says where to ask.
. "$TOP/tests/session/held.sh"

leases_there() { "$BUILD/bin/rgpuctl" leases --json | sed -n 's/.*"id":"\([^"]*\)".*/\1/p' | sort; }

# hold_lease NAME "MIB [NANOSECONDS]" [ARGUMENT...]: a lease, had with these arguments of rgpuctl run, with a program that
# looks at its data when told to. Sets LEASE.
hold_lease() {
    leases_there >"$TMP/leases-before"
    start_held "$1" "$2" "$BUILD/bin/rgpuctl" run "${@:3}" --
    await_line "$1" ready || bail "$1 does not start"
    LEASE=$(leases_there | comm -13 "$TMP/leases-before" -)
}
