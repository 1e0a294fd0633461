#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The behaviours that every transport has, over verbs. seconds: 420
. "$(dirname "$0")/vm.sh"
in_vm 400 transport.sh
