/* SPDX-License-Identifier: BSD-2-Clause */
/* The software source: a translator in each traced process. */
#ifndef RECORD_SOFTWARE_SESSION_H
#define RECORD_SOFTWARE_SESSION_H

#include "record/session/source.h"

extern const struct record_source software_source;

#endif
