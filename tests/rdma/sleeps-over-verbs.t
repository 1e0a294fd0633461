#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A worker that waits for the GPU to come to a copy sleeps meanwhile. seconds: 720
. "$(dirname "$0")/vm.sh"
in_vm 700 sleeps.sh
