/* SPDX-License-Identifier: BSD-2-Clause */
/* PTL's version. The Makefile reads the version from this file. */
#ifndef COMMON_VERSION_H
#define COMMON_VERSION_H

#define COMMON_VERSION "0.2.0"

#endif
