#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The same with three brokers, each beside its member of etcd: kills of brokers, members, boxes, workers and programs lose no grant
# and no session, and no GPU is granted twice.
command -v etcd >/dev/null || { echo "1..0 # SKIP etcd is not there (Debian: etcd-server)"; exit; }
exec env KILL_ARGUMENTS=--replicated "$(dirname "$0")/pool-survives-faults.t"
