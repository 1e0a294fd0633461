// SPDX-License-Identifier: BSD-3-Clause
/* Generated from proto/cuda.spec. */
#ifndef GEN_CALLS_VERSION_H
#define GEN_CALLS_VERSION_H

// The version of the list of calls. Releases with the same version are compatible: each knows which
// calls the other one lacks.
#define CALLS_VERSION ${protocol.version}

#endif
