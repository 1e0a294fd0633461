#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Which devices, GIDs, ports, packets and links sessions over verbs use. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 fabric.sh
