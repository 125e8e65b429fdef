/* SPDX-License-Identifier: BSD-2-Clause */
/* The source of events that programs write. */
#ifndef RECORD_PROVIDER_SOURCE_H
#define RECORD_PROVIDER_SOURCE_H

#include "record/session/source.h"

/* Reports programs that write events to session->observer, if there is one by the time it is opened. */
extern const struct record_source record_provider_source;

#endif
