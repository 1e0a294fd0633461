#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# A link that goes down while a session copies over verbs, and stays down. seconds: 620
. "$(dirname "$0")/vm.sh"
in_vm 600 links.sh gone
