/* SPDX-License-Identifier: BSD-2-Clause */
/* The one place that holds PTL's version; the Makefile reads it from here. */
#ifndef COMMON_VERSION_H
#define COMMON_VERSION_H

#define COMMON_VERSION "0.2.0"

#endif
