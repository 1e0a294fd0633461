# SPDX-License-Identifier: BSD-3-Clause
# What every program shares. libinih (config) and nettle (tickets) are needed only by programs that
# use those files of the archive: COMMON_LIBS names both. TLS_LIBS is for programs that speak to the
# other end of a session (control_stream.c, tls.c).
COMMON_SOURCES := $(wildcard $(patsubst %,common/%/*.c,base service net security)) $(B)/gen/control_messages.c
COMMON_LIBS    := -linih -l:libnettle.a
TLS_LIBS       := -lssl -lcrypto

$(call static_library,rgpucommon,$(COMMON_SOURCES))
LIBRARIES += $(B)/lib/rgpucommon.a
