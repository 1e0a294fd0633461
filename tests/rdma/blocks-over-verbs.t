#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Staging blocks of any size and number, set and measured, over verbs. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 blocks.sh
