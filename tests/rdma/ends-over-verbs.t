#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How sessions over verbs end, and that nothing is left behind. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 ends.sh
