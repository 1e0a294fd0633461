#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# In the guest: each of the scripts NAME... in turn, as one test; its own checks are indented.
set -o pipefail
count=0 failed=0
for name; do
    count=$((count + 1)) result=ok
    bash "$TOP/tests/rdma/guest/$name.sh" 2>&1 | sed -u 's/^/    /' || result="not ok" failed=1
    echo "$result $count - $name"
done
echo "1..$count"
exit $failed
