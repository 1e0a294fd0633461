#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Dozens of sessions over verbs, several at a time, leave nothing behind. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 many.sh
