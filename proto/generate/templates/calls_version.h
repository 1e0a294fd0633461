// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#ifndef GEN_CALLS_VERSION_H
#define GEN_CALLS_VERSION_H

// Of the list of calls. Releases of one version understand each other: each knows what the other lacks.
#define CALLS_VERSION ${protocol.version}

#endif
