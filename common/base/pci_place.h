// SPDX-License-Identifier: BSD-3-Clause
// PCI addresses of GPUs. A lease may have GPUs with equal addresses in several boxes, and programs
// identify GPUs by their address. Therefore the PCI domains of each further box are changed.
#ifndef RGPU_COMMON_PCI_PLACE_H
#define RGPU_COMMON_PCI_PLACE_H

#include <stdbool.h>
#include <stdio.h>

struct pci_place {
    unsigned domain, bus, device;
};

// Parses "domain:bus:device" or "bus:device", in hexadecimal. Returns false otherwise.
static inline bool pci_place_read(const char *text, struct pci_place *out)
{
    *out = (struct pci_place){0};
    return sscanf(text, "%x:%x:%x", &out->domain, &out->bus, &out->device) == 3 ||
           (out->domain = 0, sscanf(text, "%x:%x", &out->bus, &out->device) == 2);
}

// Formats an address as CUDA does.
static inline void pci_place_write(const struct pci_place *place, char *text, size_t room)
{
    snprintf(text, room, "%04X:%02X:%02X.0", place->domain & 0xffff, place->bus & 0xff,
             place->device & 0xff);
}

// Returns the domain that programs see for domain DOMAIN of the lease's box number BOX, from 0.
static inline unsigned pci_domain_seen(unsigned domain, unsigned box)
{
    return (domain + box * 0x400) & 0xffff;
}

#endif
