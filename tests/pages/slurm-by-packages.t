#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# docs/admin/pool.md and docs/admin/slurm.md from nothing to the first job and slurm-check, by packages alone. seconds: 1500
export BY_PACKAGES=yes
exec "$(dirname "$0")/from-nothing.t" "$@"
