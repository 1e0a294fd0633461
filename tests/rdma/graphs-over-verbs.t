#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of graphs, arrays and managed memory on the software GPU, over verbs. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 graphs.sh
