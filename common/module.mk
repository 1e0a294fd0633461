# What every program shares. libinih (config) and nettle (tickets) are needed only by programs that
# use those files of the archive: COMMON_LIBS names both.
COMMON_SOURCES := $(wildcard common/*.c) $(B)/gen/control_messages.c
COMMON_LIBS    := -linih -l:libnettle.a

GENERATED += $(B)/gen/control_messages.h
$(B)/gen/control_messages.c $(B)/gen/control_messages.h &: proto/control.spec proto/gen_control.py \
    proto/version_lock.py
	@mkdir -p $(@D)
	$(PYTHON) proto/gen_control.py proto/control.spec --out $(B)/gen

$(call static_library,rgpucommon,$(COMMON_SOURCES))
LIBRARIES += $(B)/lib/rgpucommon.a
