#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The packages of Debian 13, built there: as packages.t has it (seconds: 2400).
export RELEASE=trixie
. "$(dirname "$0")/packages.t"
