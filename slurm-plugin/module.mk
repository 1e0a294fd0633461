# rgpu in Slurm. What knows nothing of Slurm is an archive with tests of its own; the plugins need
# the headers of the installed Slurm's source (scripts/slurm-headers), for they must be of its exact
# version. `make slurm-plugins` says what is missing; `make` builds them where nothing is.
$(call static_library,rgpuslurm,$(addprefix slurm-plugin/,request.c settings.c lease.c sync_plan.c \
    count.c))

SLURM_HEADERS := $(if $(SAN),,$(shell scripts/slurm-headers))
SLURM_LIBS     = $$(COMMON_LIBS) -ljansson -lmunge
SLURM_PLUGINS :=

# Slurm's daemons have the symbols that a plugin leaves undefined.
define slurm_plugin_rule
SLURM_PLUGINS += $(B)/lib/slurm/$(1).so
$(call link_rule,$(B)/lib/slurm/$(1).so,$(addprefix slurm-plugin/,$(1).c $(4)),$(2),\
    $(3) -Wl$(comma)-z$(comma)undefs,-shared -Wl$(comma)--exclude-libs$(comma)ALL)
$(patsubst %.c,$(B)/obj/slurm-plugin/%.o,$(1).c $(4)): EXTRA_CPPFLAGS := -I$(B)/gen/slurm -isystem $(SLURM_HEADERS)
INSTALL_FILES += $(B)/lib/slurm/$(1).so:$(LIBDIR)/slurm/$(1).so:0755
endef

ifneq ($(SLURM_HEADERS),)
GENERATED += $(B)/gen/slurm/config.h
$(eval $(call slurm_plugin_rule,job_submit_rgpu,rgpuslurm rgpucommon,$(SLURM_LIBS),licenses.c))
$(eval $(call slurm_plugin_rule,prep_rgpu,rgpuslurm rgpucommon,$(SLURM_LIBS)))
$(foreach p,gres_rgpu spank_rgpu,$(eval $(call slurm_plugin_rule,$(p))))
# What the SPANK plugin loads where it is needed.
SLURM_PLUGINS += $(B)/lib/slurm/rgpu_step.so
$(eval $(call link_rule,$(B)/lib/slurm/rgpu_step.so,slurm-plugin/step.c,rgpuslurm rgpucommon,\
    $(SLURM_LIBS),-shared -Wl$(comma)--exclude-libs$(comma)ALL))
INSTALL_FILES += $(B)/lib/slurm/rgpu_step.so:$(LIBDIR)/slurm/rgpu_step.so:0755
EXTRAS += $(SLURM_PLUGINS)

# What Slurm's configure would find that its headers ask for.
$(B)/gen/slurm/config.h:
	@mkdir -p $(@D)
	printf '#define USE_ALIAS 1\n#define NDEBUG 1\n' >$@
endif

# libslurm's own interface is stable enough to need no sources.
ifneq ($(wildcard /usr/include/slurm/slurm.h),)
$(call program,rgpu-slurm-sync,slurm-plugin/sync.c slurm-plugin/sync_slurm.c slurm-plugin/sync_lost.c,rgpuslurm rgpucommon,\
    $(SLURM_LIBS) -lslurm -lsystemd)
INSTALL_FILES += $(B)/bin/rgpu-slurm-sync:$(SBINDIR)/rgpu-slurm-sync:0755 \
    systemd/rgpu-slurm-sync.service.in:$(UNITDIR)/rgpu-slurm-sync.service:0644 \
    docs/man/rgpu-slurm-sync.8:$(MANDIR)/man8/rgpu-slurm-sync.8:0644 \
    config/slurm.conf:$(SYSCONFDIR)/rgpu/slurm.conf:config \
    config/modulefiles/rgpu.in:$(PREFIX)/share/modulefiles/rgpu:0644
endif

.PHONY: slurm-plugins
slurm-plugins: $$(SLURM_PLUGINS)
ifeq ($(SLURM_HEADERS),)
	@echo "no plugins for Slurm: its headers are missing;"
	@echo "install libslurm-dev and run scripts/slurm-headers --fetch, or set SLURM_SOURCE"
endif
