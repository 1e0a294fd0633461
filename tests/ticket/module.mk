# SPDX-License-Identifier: BSD-3-Clause
TICKET_LIBS := $(COMMON_LIBS) -ljwt -ljansson

$(call test_program,ticket-bundle,tests/ticket/bundle.c,rgpucommon,$(TICKET_LIBS))
$(call test_program,ticket-keys,tests/ticket/keys.c,rgpucommon,$(TICKET_LIBS))
$(call test_program,ticket-forgery,tests/ticket/forgery.c,rgpucommon,$(TICKET_LIBS) $(TLS_LIBS))
