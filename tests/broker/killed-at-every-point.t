#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# kill -9 of the broker at every point of acquire, release, drain and registration: after its restart
# no GPU is lost, none is granted twice, and the sums of budgets hold.
. "$(dirname "$0")/../lib.sh"
tap_finished=yes
python3 "$TOP/tests/broker/kill_points.py" "$BUILD" "$TMP"
