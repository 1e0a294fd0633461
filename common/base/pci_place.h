// SPDX-License-Identifier: BSD-3-Clause
// The PCI address of a GPU. A lease may have GPUs of several boxes with the same PCI address.
// Programs identify GPUs by these addresses, so each box after the lease's first gets PCI domains
// of its own.
#ifndef RGPU_COMMON_PCI_PLACE_H
#define RGPU_COMMON_PCI_PLACE_H

#include <stdbool.h>
#include <stdio.h>

struct pci_place {
    unsigned domain, bus, device;
};

// "domain:bus:device", or without the domain. False: it is neither.
static inline bool pci_place_read(const char *text, struct pci_place *out)
{
    *out = (struct pci_place){0};
    return sscanf(text, "%x:%x:%x", &out->domain, &out->bus, &out->device) == 3 ||
           (out->domain = 0, sscanf(text, "%x:%x", &out->bus, &out->device) == 2);
}

// As CUDA writes it.
static inline void pci_place_write(const struct pci_place *place, char *text, size_t room)
{
    snprintf(text, room, "%04X:%02X:%02X.0", place->domain & 0xffff, place->bus & 0xff,
             place->device & 0xff);
}

// The domain by which programs know a domain of the lease's box number BOX, counted from 0.
static inline unsigned pci_domain_seen(unsigned domain, unsigned box)
{
    return (domain + box * 0x400) & 0xffff;
}

#endif
