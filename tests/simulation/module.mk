# SPDX-License-Identifier: BSD-3-Clause
# The pool in a simulator: the real broker and the boxes' real agents, in one process and virtual time.
#   make simulate SEED=7                    one life, with its trace
#   make simulate SEEDS=1-100               a campaign
FAILING_MEMORY := malloc calloc realloc strdup strndup
SIMULATED_PARTS := $(filter-out %/busy_time.c %/view.c,$(wildcard broker/api/*.c)) \
    broker/http/broker_settings.c broker/http/same_site.c broker/http/user_rates.c \
    daemon/rgpud/box/failed_sessions.c \
    $(addprefix daemon/rgpud/broker/,broker_agent.c broker_history.c broker_orders.c revocations.c served_leases.c)

$(call test_helper,simulate,$(wildcard tests/simulation/*.c) $(SIMULATED_PARTS),rgpubroker rgpucommon,\
    $$(COMMON_LIBS) -lsqlite3 -ljansson -ljwt -levent -Wl$(comma)--wrap=history_open -Wl$(comma)--wrap=revocations_open \
    -Wl$(comma)--wrap=store_add_event $(addprefix -Wl$(comma)--wrap=,$(FAILING_MEMORY) tsearch open_memstream abort))

# The product's allocations may fail (exhaustive.c); the simulator's own do not.
$(patsubst %.c,$(B)/obj/%.o,$(wildcard tests/simulation/*.c)): \
    EXTRA_CPPFLAGS := $(foreach function,$(FAILING_MEMORY) abort,-D$(function)=__real_$(function))

.PHONY: simulate
simulate: $(B)/tests/simulate
	@COMMIT=$$(git rev-parse --short HEAD 2>/dev/null) $< $(if $(SEED),--seed $(SEED) --verbose,--seeds $(or $(SEEDS),1-20)) $(ARGS)

# How many branches of the decisions unit tests and simulator take together. ARGS=--lines names those that they do not.
DECIDERS := $(addprefix build/coverage/tests/,simulate broker-plan broker-queue broker-capacity \
    broker-bodies broker-steering broker-reports broker-restart broker-adoption broker-pool broker-reserve daemon-revocations daemon-known-leases daemon-broker-agent)
.PHONY: coverage
coverage:
	@find build/coverage -name '*.gcda' -delete 2>/dev/null; true
	@$(MAKE) --no-print-directory B=build/coverage CFLAGS="-O0 -g --coverage" LDFLAGS=-Wl,-u,__gcov_dump $(DECIDERS)
	@for program in $(filter-out %/simulate,$(DECIDERS)); do $$program >/dev/null 2>&1; done; true
	@build/coverage/tests/simulate --seeds 1-100 --minutes 5 --boxes 8 --users 30 | grep -E 'BROKEN|broken='
	@build/coverage/tests/simulate --seeds 1-100 --minutes 5 --boxes 6 --users 20 --dense | grep -E 'BROKEN|broken='
	@build/coverage/tests/simulate --seeds 101-110 --minutes 5 --boxes 8 --users 20 --dense --verbose | grep -E '^BROKEN'; true
	@build/coverage/tests/simulate --seed 2 --minutes 5 --boxes 3 --users 10 --exhaust 1000 --step 80 | grep -E 'BROKEN|^exh'
	@tests/simulation/coverage.py build/coverage $(ARGS)
