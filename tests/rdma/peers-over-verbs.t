#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The transport itself, and copies between GPUs of two boxes over verbs. seconds: 1520
. "$(dirname "$0")/vm.sh"
in_vm 1500 all.sh transport peers
