# SPDX-License-Identifier: BSD-3-Clause
# libnvidia-ml.so.1: the stand-in for the management library, for nvidia-smi and the like on nodes without a GPU. It stays
# in a process that has loaded it, which may unload it while another of its threads still asks.
$(call program_library,libnvidia-ml.so.1,$(wildcard client-lib/nvml/*.c),rgpucommon,$(CLIENT_LIBS),\
    -Wl$(comma)-soname$(comma)libnvidia-ml.so.1 -Wl$(comma)-Bsymbolic -Wl$(comma)--exclude-libs$(comma)ALL \
    -Wl$(comma)-z$(comma)nodelete)
INSTALL_FILES += $(B)/lib/libnvidia-ml.so.1:$(LIBDIR)/libnvidia-ml.so.1:0755:client
