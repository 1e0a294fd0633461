# What every program shares. libinih (config) and nettle (tickets) are needed only by programs that
# use those files of the archive: COMMON_LIBS names both.
COMMON_SOURCES := $(wildcard common/*.c) $(B)/gen/control_messages.c
COMMON_LIBS    := -linih -l:libnettle.a

$(call static_library,rgpucommon,$(COMMON_SOURCES))
LIBRARIES += $(B)/lib/rgpucommon.a
