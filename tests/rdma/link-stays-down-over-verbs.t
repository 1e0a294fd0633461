#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A link that goes down while a session copies over verbs, and stays down. seconds: 200
. "$(dirname "$0")/vm.sh"
in_vm 180 links.sh gone
