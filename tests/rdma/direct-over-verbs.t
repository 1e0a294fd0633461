#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The RDMA device reads and writes the memory of the GPU itself. seconds: 420
. "$(dirname "$0")/vm.sh"
in_vm 400 direct.sh
