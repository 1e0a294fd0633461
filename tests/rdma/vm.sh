# SPDX-License-Identifier: BSD-3-Clause
# For tests that need RDMA devices: the guest's part runs in the machine of scripts/rdma-vm, and its
# lines become this test's. The caller has not sourced lib.sh; nothing comes after `in_vm`.
#
# in_vm SECONDS SCRIPT [ARGUMENT...]: SCRIPT, of guest/, runs in the guest and prints TAP. `all.sh` runs several in one
# machine: to start it takes longer than most of them.
# SECONDS are five times or more what it takes on an idle machine, as others may be at work.
set -o pipefail
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
export TOP BUILD=${BUILD:-$TOP/build}

skip_vm() {
    echo "1..0 # SKIP $*"
    exit 0
}

in_vm() {
    local status=0 errors lines seconds=$1 script=$2
    shift 2
    [ -z "${VALGRIND:-}${SAN:-}" ] || skip_vm "the emulated machine is too slow for checked programs"
    errors=$(mktemp) lines=$(mktemp)
    "$TOP/scripts/rdma-vm" --timeout "$seconds" bash "$TOP/tests/rdma/guest/$script" "$@" 2>"$errors" |
        tee "$lines" || status=$?
    cat "$errors" >&2
    # The guest has one way out for both of its outputs, and prove keeps what is no test to itself.
    [ $status = 0 ] || grep -E -A1 '^ *(not ok|#)' "$lines" >&2 || true
    rm -f "$lines"
    if [ $status = 125 ]; then
        set -- "$(sed -n 's/^rdma-vm: //p' "$errors" | tail -n 1)"
        rm -f "$errors"
        skip_vm "no machine with RDMA devices: $1"
    fi
    rm -f "$errors"
    exit $status
}
