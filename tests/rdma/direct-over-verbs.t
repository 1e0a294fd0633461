#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The RDMA device reads and writes the memory of the GPU itself. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 direct.sh
