#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A link that goes down and comes up again while a session copies over verbs. seconds: 620
. "$(dirname "$0")/vm.sh"
in_vm 600 links.sh back
