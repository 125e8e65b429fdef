/* SPDX-License-Identifier: BSD-2-Clause */
/* The side of a named session that answers: a source beside the others, which records nothing. */
#ifndef RECORD_CONTROL_SERVER_H
#define RECORD_CONTROL_SERVER_H

#include "record/session/source.h"

extern const struct record_source record_control_source;

#endif
