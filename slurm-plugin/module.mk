# SPDX-License-Identifier: GPL-2.0-or-later
# rgpu in Slurm. What knows nothing of Slurm is an archive with tests of its own; the plugins need
# the headers of the installed Slurm's source (scripts/slurm-headers), for they must be of its exact
# version. `make slurm-plugins` says what is missing; `make` builds them where nothing is.
#   make slurm-plugin SLURM_PREFIX=/opt/slurm      what a Slurm of the site's own needs, in that version
#   SLURM_SOURCE=DIR                               its source, if scripts/slurm-headers cannot get it
SLURM_PREFIX ?= /usr
SLURM_SOURCE ?=
export SLURM_PREFIX SLURM_SOURCE
$(call static_library,rgpuslurm,$(addprefix slurm-plugin/,request/job_request.c request/gres_text.c base/plugin_settings.c base/job_lease.c \
    base/lent.c counts/count.c places.c sync/sync_plan.c sync/busy_note.c))

SLURM_HEADERS := $(if $(SAN),,$(shell SLURM_PREFIX='$(SLURM_PREFIX)' SLURM_SOURCE='$(SLURM_SOURCE)' scripts/slurm-headers))
SLURM_VERSION := $(shell sed -n 's/.*SLURM_VERSION_STRING *"\(.*\)"/\1/p' $(SLURM_PREFIX)/include/slurm/slurm_version.h 2>/dev/null)
# A folder for each Slurm: what was compiled for another one is compiled anew.
SLURM_GEN     := $(B)/gen/slurm/$(subst /,_,$(SLURM_PREFIX))-$(SLURM_VERSION)
SLURM_INCLUDE := -isystem $(SLURM_PREFIX)/include
SLURM_LIBRARY := $(patsubst %/libslurm.so,-L%,$(firstword $(wildcard $(SLURM_PREFIX)/lib*/libslurm.so)))
SLURM_LIBS     = $$(COMMON_LIBS) -ljansson -lmunge
SLURM_PLUGINS :=

# A plugin or half of one, of these sources, archives and libraries. Slurm's daemons have the symbols
# that it leaves undefined.
define slurm_plugin_rule
SLURM_PLUGINS += $(B)/lib/slurm/$(1).so
$(call link_rule,$(B)/lib/slurm/$(1).so,$(addprefix slurm-plugin/,$(2)),$(3),\
    $(4) $(FLOOR_LIBS) -Wl$(comma)-z$(comma)undefs,-shared -Wl$(comma)--exclude-libs$(comma)ALL $(FLOOR_FLAGS),$(FLOOR_DEPS))
$(patsubst %.c,$(B)/obj/slurm-plugin/%.o,$(2)): EXTRA_CPPFLAGS := -I$(SLURM_GEN) $(SLURM_INCLUDE) -isystem $(SLURM_HEADERS)
$(patsubst %.c,$(B)/obj/slurm-plugin/%.o,$(2)): $(SLURM_GEN)/config.h
INSTALL_FILES += $(B)/lib/slurm/$(1).so:$(LIBDIR)/slurm/$(1).so:0755:slurm
endef

ifneq ($(SLURM_HEADERS),)
# What Slurm itself loads needs nothing; what needs libraries is loaded by it, where it has work.
$(eval $(call slurm_plugin_rule,job_submit_rgpu,job_submit_late.c base/late.c))
$(eval $(call slurm_plugin_rule,prep_rgpu,prep_late.c base/late.c))
$(eval $(call slurm_plugin_rule,gres_rgpu,gres_rgpu.c))
$(eval $(call slurm_plugin_rule,spank_rgpu,spank_rgpu.c base/late.c))
$(eval $(call slurm_plugin_rule,rgpu_submit,job_submit_rgpu.c gpus_options.c $(addprefix counts/,licenses.c job_licenses.c class_takes.c \
    waiting_jobs.c scheduled_jobs.c wanted_classes.c preempt.c) base/license_entries.c base/job_order.c,\
    rgpuslurm rgpucommon,$(SLURM_LIBS)))
$(eval $(call slurm_plugin_rule,rgpu_prep,prep_rgpu.c job_switches.c base/job_order.c base/license_entries.c,rgpuslurm rgpucommon,$(SLURM_LIBS)))
# What the SPANK plugin loads where it is needed.
SLURM_PLUGINS += $(B)/lib/slurm/rgpu_step.so
$(eval $(call link_rule,$(B)/lib/slurm/rgpu_step.so,slurm-plugin/step.c,rgpuslurm rgpucommon,\
    $(SLURM_LIBS) $(FLOOR_LIBS),-shared -Wl$(comma)--exclude-libs$(comma)ALL $(FLOOR_FLAGS),$(FLOOR_DEPS)))
INSTALL_FILES += $(B)/lib/slurm/rgpu_step.so:$(LIBDIR)/slurm/rgpu_step.so:0755:slurm
EXTRAS += $(SLURM_PLUGINS)

# What Slurm's configure would find that its headers ask for.
endif
$(SLURM_GEN)/config.h:
	@rm -rf $(B)/gen/slurm
	@mkdir -p $(@D)
	@printf '#define USE_ALIAS 1\n#define NDEBUG 1\n' >$@

# libslurm's own interface is stable enough to need no sources.
ifneq ($(wildcard $(SLURM_PREFIX)/include/slurm/slurm.h),)
SYNC_SOURCES := $(addprefix slurm-plugin/sync/,sync.c sync_slurm.c sync_lost.c sync_busy.c sync_accounting.c)
$(call program,rgpu-slurm-sync,$(SYNC_SOURCES),rgpuslurm rgpucommon,\
    $(SLURM_LIBS) $(SLURM_LIBRARY) $(patsubst -L%,-Wl$(comma)-rpath$(comma)%,$(filter-out -L/usr/%,$(SLURM_LIBRARY))) \
    -lslurm -lsystemd)
$(call objects,$(SYNC_SOURCES)): EXTRA_CPPFLAGS := $(SLURM_INCLUDE)
$(call objects,$(SYNC_SOURCES)): $(SLURM_GEN)/config.h
INSTALL_FILES += $(B)/bin/rgpu-slurm-sync:$(SBINDIR)/rgpu-slurm-sync:0755:slurm \
    common/service/daemon.bash-completion:$(COMPLETIONDIR)/rgpu-slurm-sync:0644:slurm \
    systemd/rgpu-slurm-sync.service.in:$(UNITDIR)/rgpu-slurm-sync.service:0644:slurm \
    docs/man/rgpu-slurm-sync.8:$(MANDIR)/man8/rgpu-slurm-sync.8:0644:slurm \
    config/slurm.conf:$(SYSCONFDIR)/rgpu/slurm.conf:config:slurm
endif

# What is installed without the plugins says so; asked for, they are there or nothing is:
# make install SLURM=yes.
SLURM ?=
SLURM_MISSING = the plugins for Slurm are not built, since the headers of its source are missing: \
    apt-get install libslurm-dev dpkg-dev && scripts/slurm-headers --fetch, or set SLURM_SOURCE

.PHONY: slurm-plugin slurm-plugins slurm-said
slurm-plugin:
	@scripts/slurm-headers --fetch >/dev/null
	@+$(MAKE) $(jobs) --no-print-directory slurm-plugins $(B)/bin/rgpu-slurm-sync
slurm-plugins: $$(SLURM_PLUGINS)
ifeq ($(SLURM_HEADERS),)
	@echo "$(SLURM_MISSING)" >&2; exit 1
endif

ifeq ($(SLURM),yes)
install-files: slurm-plugins
else ifeq ($(SLURM_HEADERS)$(SAN),)
INSTALL_TARGETS += slurm-said
slurm-said: install-files
	@echo >&2
	@echo "NOT INSTALLED: $(SLURM_MISSING)" >&2
endif
