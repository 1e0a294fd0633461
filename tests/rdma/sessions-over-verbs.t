#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How sessions over verbs come about, what they survive and how they end. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 sessions.sh
