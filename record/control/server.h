/* SPDX-License-Identifier: BSD-2-Clause */
/* The server of a named session: an additional source, which records nothing. */
#ifndef RECORD_CONTROL_SERVER_H
#define RECORD_CONTROL_SERVER_H

#include "record/session/source.h"

extern const struct record_source record_control_source;

#endif
