# Running the tests.
#   make check                 every test, TAP under prove
#   make check-slurm           those with a real Slurm cluster
#   make check T=name          the tests whose name or path contains this
#   make check VALGRIND=1      compiled tests under valgrind
#   make check SAN=thread      the same tests on a sanitized build
#   make check-kill SECONDS=600 SEED=7     a pool under random faults
#   make fuzz SECONDS=600                  every decoder under libFuzzer

T        ?=
VALGRIND ?=
SECONDS  ?= 120
SEED     ?=
TEST_JOBS ?= 2

# T may be a name (transport-ring), a source (tests/transport/ring.c) or a script (tests/box/x.t).
test_pattern = $(subst /,-,$(patsubst tests/%,%,$(basename $(T))))
test_name    = $(subst /,-,$(patsubst tests/%,%,$(patsubst $(B)/%,%,$(basename $(1)))))
matching     = $(if $(T),$(foreach t,$(1),$(if $(findstring $(test_pattern),$(call test_name,$(t))),$(t))),$(1))

test_scripts  = $(sort $(wildcard tests/*/*.t))

.PHONY: check check-slurm check-built tests
check:
	@scripts/install-deps build test rdma
	@scripts/slurm-headers --fetch >/dev/null || echo "the tests of its plugins are skipped" >&2
	@+$(MAKE) $(jobs) --no-print-directory check-built

check-slurm:
	@+$(MAKE) --no-print-directory check T=slurm

tests: all $$(TEST_PROGRAMS) $$(TEST_EXTRAS)

check-built: tests
	@selected="$(strip $(call matching,$(test_scripts) $(sort $(TEST_PROGRAMS))))"; \
	[ -n "$$selected" ] || { echo "no test matches T=$(T)"; exit 1; }; \
	BUILD="$(CURDIR)/$(B)" VALGRIND="$(VALGRIND)" SAN="$(SAN)" CC="$(CC)" \
	ASAN_OPTIONS="$${ASAN_OPTIONS:-detect_leaks=1}" \
	TSAN_OPTIONS="$${TSAN_OPTIONS:-halt_on_error=0:exitcode=66}" \
	UBSAN_OPTIONS="$${UBSAN_OPTIONS:-print_stacktrace=1:halt_on_error=1}" \
	prove --timer -j$(TEST_JOBS) $(if $(T),-v) --exec tests/run-one $$selected
