#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copies over verbs: of every size, in blocks of all sizes, and such as need no staging; and unmodified programs. seconds: 1520
. "$(dirname "$0")/vm.sh"
in_vm 1500 all.sh copies blocks direct programs
