#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copies over verbs: programs, graphs, blocks of all sizes, and copies that need no staging. seconds: 1520
. "$(dirname "$0")/vm.sh"
in_vm 1500 all.sh copies blocks direct graphs programs
