# SPDX-License-Identifier: BSD-3-Clause
# Running the tests.
#   make check                 what a change needs: minutes, with few packages
#   make check-world           every test, as CI runs them
#   make check T=name          the tests whose name or path contains this, of both kinds
#   make check-slurm           those with a real Slurm cluster
#   make check-slurm RELEASE=trixie        the same with the Slurm of another release of Debian
#   make check-slurm SLURM_PREFIX=/opt/slurm      the same with a Slurm that was installed there
#   make check-failed          those that failed the last time, one after the other
#   make check VALGRIND=1      compiled tests under valgrind
#   make check SAN=thread      the same tests on a sanitized build
#   make check-kill SECONDS=600 SEED=7     a pool under random faults
#   make fuzz SECONDS=600                  every decoder under libFuzzer

T        ?=
VALGRIND ?=
SECONDS  ?= 120
SEED     ?=

# T may be a name (transport-ring), a source (tests/transport/ring.c) or a script (tests/box/x.t).
test_pattern = $(subst /,-,$(patsubst tests/%,%,$(basename $(T))))
test_name    = $(subst /,-,$(patsubst tests/%,%,$(patsubst $(B)/%,%,$(basename $(1)))))
matching     = $(foreach t,$(1),$(if $(findstring $(test_pattern),$(call test_name,$(t))),$(t)))

every_test   = $(sort $(wildcard tests/*/*.t)) $(sort $(TEST_PROGRAMS))
# The tests of `make check-world` alone, and of `make check`.
world_words := $(shell sed 's/[[:space:]]*\#.*//' tests/world.list)
world_only   = $(filter $(foreach w,$(world_words),$(w) $(w).t $(B)/tests/$(subst /,-,$(w:tests/%=%))),$(every_test))
selected     = $(if $(T),$(call matching,$(every_test)),$(if $(WORLD),$(every_test),$(filter-out $(world_only),$(every_test))))
TEST_JOBS   ?= $(if $(T)$(WORLD),3,$(shell expr 3 '*' $$(nproc)))

# What a test needs beside the packages of the build: sections of scripts/deps, by its folder and kind.
sections_fuzz := fuzz
sections_packages := packages slurm
sections_pages := slurm
sections_rdma := rdma
sections_slurm := slurm
sections_studies := studies
sections_vm := rdma
section_of = $(sections_$(firstword $(subst -, ,$(call test_name,$(1)))))
sections   = $(sort build check $(if $(VALGRIND),valgrind) $(if $(filter $(world_only),$(selected)),world \
                 $(foreach t,$(filter $(world_only),$(selected)),$(call section_of,$(t)))))

# Scripts start programs of all kinds. A compiled test names what it starts in its folder's module.mk.
test_targets = $(filter $(TEST_PROGRAMS),$(selected)) $(if $(filter %.t,$(selected)),all $(TEST_EXTRAS))

.PHONY: check check-world check-slurm check-built check-failed ready ready-built tests
check: ready
	@+$(MAKE) --no-print-directory $(check_flags) check-built
check-world:
	@+$(MAKE) --no-print-directory WORLD=1 check

# Installs and builds what the selected tests need. `make check` itself compiles fast; what has been compiled already stays.
ready:
	@[ -n "$(firstword $(selected))" ] || { echo "no test matches T=$(T)"; exit 1; }
	@! $(as_nobody) true 2>/dev/null || $(as_nobody) test -x "$(CURDIR)/tests" || \
	    { echo "daemons under test give up root's rights and cannot enter $(CURDIR): chmod o+x it and those above, or clone elsewhere"; exit 1; }
	@scripts/install-deps $(sections)
	@$(if $(filter slurm,$(sections)),scripts/slurm-headers --fetch >/dev/null || echo "the tests of Slurm's plugins are skipped" >&2)
	@+$(MAKE) $(jobs) --no-print-directory $(check_flags) ready-built
as_nobody = setpriv --reuid=65534 --regid=65534 --clear-groups
check_flags = $(if $(WORLD),,ASSERT=1 $(if $(filter file default,$(origin CFLAGS)),CFLAGS=-O1))
ready-built: $$(test_targets)

# In another release Slurm is another version; T chooses among the tests here too.
RELEASE ?=
check-slurm: T := $(or $(T),slurm)
check-slurm:
ifeq ($(RELEASE),)
	@+$(if $(filter-out /usr,$(SLURM_PREFIX)),PATH="$(SLURM_PREFIX)/bin:$(SLURM_PREFIX)/sbin:$$PATH") $(MAKE) --no-print-directory check T=$(T)
else
	scripts/in-debian $(RELEASE) sh -c 'scripts/slurm-headers --fetch >/dev/null && \
	    make -j$(TEST_JOBS) tests && make check-built T=$(T) TEST_JOBS=1'
endif

tests: all $$(TEST_PROGRAMS) $$(TEST_EXTRAS)

# How each of the last run's tests ended.
test_record = $(B)/tests.record
# The folder of the interpreter, if python3 is a script: the wrapper of a version manager such as pyenv takes eight times as long to
# start as Python itself, and the tests start Python thousands of times.
interpreter = $(shell python=$$(command -v python3) && head -c 2 "$$python" | grep -q '.!' && \
	dirname "$$(python3 -c 'import sys; print(sys.executable)')")
prove = $(patsubst %,PATH="%:$$PATH",$(interpreter)) BUILD="$(CURDIR)/$(B)" VALGRIND="$(VALGRIND)" SAN="$(SAN)" CC="$(CC)" \
	ASAN_OPTIONS="$${ASAN_OPTIONS:-detect_leaks=1}" \
	TSAN_OPTIONS="$${TSAN_OPTIONS:-halt_on_error=0:exitcode=66}" \
	UBSAN_OPTIONS="$${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}" \
	HARNESS_RULESFILE=tests/order.yml \
	prove --timer --exec tests/run-one --statefile="$(test_record)"

check-built: $$(test_targets)
	@rm -f "$(test_record)"
	@$(prove) --state=save -j$(TEST_JOBS) $(if $(T),-v) $(selected)

# The tests that failed in the last run once more, one at a time and with all they say. A test that
# passes now depends on how busy the machine is: that is a fault of the test, or of what it tests.
check-failed:
	@[ -e "$(test_record)" ] && [ -n "$$($(prove) --state=failed --dry)" ] || \
	    { echo "there is no record of failed tests"; exit 1; }
	@$(prove) --state=failed -v
