# SPDX-License-Identifier: BSD-3-Clause
# How a session's bytes move.
$(call static_library,rgputransport,$(wildcard transport/*.c transport/*/*.c))
LIBRARIES += $(B)/lib/rgputransport.a
