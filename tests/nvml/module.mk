# SPDX-License-Identifier: BSD-3-Clause
$(call test_helper,nvml-polls,tests/nvml/polls.c,,-ldl)
