# SPDX-License-Identifier: BSD-3-Clause
# The campaign of random faults on a whole pool; a short one is an ordinary test.
#   make check-kill SECONDS=600 SEED=7
$(eval $(call link_rule,$(B)/tests/kill-compute,tests/kill/compute.c,,\
    -L$(B)/lib -l:libcuda.so.1 -ldl,,$(B)/lib/libcuda.so.1))
TEST_EXTRAS += $(B)/tests/kill-compute
$(B)/obj/tests/kill/compute.o: tests/programs/kernels.ptx

.PHONY: check-kill check-kill-built
check-kill:
	@scripts/install-deps build check world slurm
	@+$(MAKE) $(jobs) --no-print-directory check-kill-built
check-kill-built: tests
	@BUILD="$(CURDIR)/$(B)" tests/kill/in-a-machine-of-its-own $(PYTHON) tests/kill/campaign.py \
	    --seconds $$(($(SECONDS) * 3 / 8)) $(if $(SEED),--seed $(SEED))
	@BUILD="$(CURDIR)/$(B)" tests/kill/in-a-machine-of-its-own $(PYTHON) tests/kill/campaign.py --replicated \
	    --seconds $$(($(SECONDS) * 3 / 8)) $(if $(SEED),--seed $(SEED))
	@BUILD="$(CURDIR)/$(B)" SOAK_EVENTS=1000000 SOAK_SECONDS=$$(($(SECONDS) / 4)) \
	    $(if $(SEED),SOAK_SEED=$$(($(SEED) % 32768))) tests/slurm/soak.t
