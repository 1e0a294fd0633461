# SPDX-License-Identifier: BSD-3-Clause
$(call test_program,harness-tap,tests/harness/tap.c)
