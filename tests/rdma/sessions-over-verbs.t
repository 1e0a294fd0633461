#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sessions over verbs: protected ones, workers that sleep, and links that delay and lose packets. seconds: 1520
. "$(dirname "$0")/vm.sh"
in_vm 1500 all.sh privacy sleeps sessions
