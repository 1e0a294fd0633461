# SPDX-License-Identifier: BSD-3-Clause
$(call test_program,harness-tap,tests/harness/tap.c)
$(call test_helper,older_kernel,tests/harness/older_kernel.c,,-lseccomp)
