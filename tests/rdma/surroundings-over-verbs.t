#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# One program in many surroundings over verbs, and memory that faults. seconds: 1520
. "$(dirname "$0")/vm.sh"
in_vm 1500 surroundings.sh
