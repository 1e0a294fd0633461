#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Staging blocks of any size and number, set and measured, over verbs. seconds: 300
. "$(dirname "$0")/vm.sh"
in_vm 280 blocks.sh
