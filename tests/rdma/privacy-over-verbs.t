#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Sessions with tickets over verbs, what privacy leaves of them, and a kernel that encrypts. seconds: 1020
. "$(dirname "$0")/vm.sh"
in_vm 1000 privacy.sh
