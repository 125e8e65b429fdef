/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of programs' events. */
#ifndef RECORD_PROVIDER_SOURCE_H
#define RECORD_PROVIDER_SOURCE_H

#include "record/session/source.h"

/* Reports programs that write events to session->observer, if set before the source is opened. */
extern const struct record_source record_provider_source;

#endif
