#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Copies of every size and alignment over verbs. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 copies.sh
