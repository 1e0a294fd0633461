#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copies between GPUs of two boxes over verbs go the way that was measured to be fastest, or that is forced. seconds: 620
. "$(dirname "$0")/vm.sh"
in_vm 600 peer-paths.sh
