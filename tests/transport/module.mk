# SPDX-License-Identifier: BSD-3-Clause
# One program per behaviour, each run against every transport.
TRANSPORT_TESTS := $(patsubst tests/transport/%.c,%,$(wildcard tests/transport/*.c))
$(foreach t,$(TRANSPORT_TESTS),$(call test_program,transport-$(t),tests/transport/$(t).c,rgputransport rgpucommon,$(COMMON_LIBS) $(TLS_LIBS)))
