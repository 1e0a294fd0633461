#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The behaviours that every transport has, over verbs. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 transport.sh
