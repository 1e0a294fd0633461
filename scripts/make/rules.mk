# SPDX-License-Identifier: BSD-3-Clause
# Building blocks for module.mk files. Paths are relative to the repository root.
#
#   $(call static_library,NAME,SOURCES)                    -> $(B)/lib/NAME.a
#   $(call shared_library,FILE,SOURCES,ARCHIVES,LIBS,EXTRA_LDFLAGS,EXTRA_DEPS)
#                                                          -> $(B)/lib/FILE
#   $(call program_library,...)                            -> the same for libraries that are loaded into programs: they
#                                                             run with C libraries from GLIBC_FLOOR on
#   $(call program,NAME,SOURCES,ARCHIVES,LIBS)             -> $(B)/bin/NAME
#   $(call node_program,NAME,SOURCES,ARCHIVES,LIBS)        -> the same for programs that run on every node, with any such C library
#   $(call test_program,NAME,SOURCES,ARCHIVES,LIBS)        -> $(B)/tests/NAME (built by `make check`)
#   $(call test_helper,NAME,SOURCES,ARCHIVES,LIBS)         -> $(B)/tests/NAME, which tests start
#   SOURCES   .c files, under the source tree or under $(B)/gen
#   ARCHIVES  names of static libraries, dependents first
#   LIBS      system libraries, e.g. -levent
# A source's own flags:  $(B)/obj/daemon/rgpud/main.o: EXTRA_CPPFLAGS := -DX
# What tests need beside test programs (built by `make check`) goes into TEST_EXTRAS.
# Generated headers that must exist before anything compiles go into GENERATED.

PROGRAMS      :=
LIBRARIES     :=
EXTRAS        :=
TEST_PROGRAMS :=
TEST_EXTRAS   :=
INSTALL_TARGETS :=
DEPFILES      :=
GENERATED     :=

# For targets that start make again: as many jobs as there are processors, unless -j was given.
jobs = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

# Recipes say what they make in a short line and not how; V=1 shows the commands.
#   	$(call say,CC,$@)
#   	$(Q)$(CC) ...
Q   := $(if $(V),,@)
say  = $(if $(V),,@printf '  %-4s %s\n' $(1) $(patsubst $(B)/%,%,$(2)))

objects  = $(patsubst %.c,$(B)/obj/%.o,$(patsubst $(B)/gen/%,gen/%,$(1)))
archives = $(patsubst %,$(B)/lib/%.a,$(1))

define static_library_rule
DEPFILES += $(patsubst %.o,%.d,$(call objects,$(2)))
$(B)/lib/$(1).a: $(call objects,$(2))
	@mkdir -p $$(@D)
	@rm -f $$@
	$$(call say,AR,$$@)
	$$(Q)$$(AR) rcs $$@ $$^
endef
# The archive comes last, as OpenSSL's archives need it, too.
define program_library_rule
LIBRARIES += $(B)/lib/$(1)
$(call link_rule,$(B)/lib/$(1),$(2),$(3),$(4) $(FLOOR_LIBS),-shared $(5) $(FLOOR_FLAGS),$(6) $(FLOOR_DEPS))
endef
static_library = $(eval $(call static_library_rule,$(1),$(2)))

define link_rule
DEPFILES += $(patsubst %.o,%.d,$(call objects,$(2)))
$(1): $(call objects,$(2)) $(call archives,$(3)) $(6)
	@mkdir -p $$(@D)
	$$(call say,LD,$$@)
	$$(Q)$$(CC) $$(ALL_CFLAGS) $(5) -o $$@ $(call objects,$(2)) \
	    -Wl,--start-group $(call archives,$(3)) -Wl,--end-group $$(ALL_LDFLAGS) $(4)
endef
define program_rule
PROGRAMS += $(B)/bin/$(1)
$(call link_rule,$(B)/bin/$(1),$(2),$(3),$(4))
endef
define node_program_rule
PROGRAMS += $(B)/bin/$(1)
$(call link_rule,$(B)/bin/$(1),$(2),$(3),$(4) $(FLOOR_LIBS),-Wl$(comma)--allow-shlib-undefined $(FLOOR_FLAGS),$(FLOOR_DEPS))
endef
define test_program_rule
TEST_PROGRAMS += $(B)/tests/$(1)
$(call link_rule,$(B)/tests/$(1),$(2),$(3),$(4))
endef
define test_helper_rule
TEST_EXTRAS += $(B)/tests/$(1)
$(call link_rule,$(B)/tests/$(1),$(2),$(3),$(4))
endef
define shared_library_rule
LIBRARIES += $(B)/lib/$(1)
$(call link_rule,$(B)/lib/$(1),$(2),$(3),$(4),-shared $(5),$(6))
endef
program        = $(eval $(call program_rule,$(1),$(2),$(3),$(4)))
node_program   = $(eval $(call node_program_rule,$(1),$(2),$(3),$(4)))
test_program   = $(eval $(call test_program_rule,$(1),$(2),$(3),$(4)))
test_helper    = $(eval $(call test_helper_rule,$(1),$(2),$(3),$(4)))
shared_library = $(eval $(call shared_library_rule,$(1),$(2),$(3),$(4),$(5),$(6)))
program_library = $(eval $(call program_library_rule,$(1),$(2),$(3),$(4),$(5),$(6)))

.SECONDEXPANSION:

$(B)/obj/%.o: %.c | $$(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(EXTRA_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/obj/gen/%.o: $(B)/gen/%.c | $$(GENERATED)
	@mkdir -p $(@D)
	$(call say,CC,$<)
	$(Q)$(CC) $(ALL_CPPFLAGS) $(EXTRA_CPPFLAGS) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
