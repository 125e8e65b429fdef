/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of engines. */
#ifndef FLOW_VIEW_ENGINES_H
#define FLOW_VIEW_ENGINES_H

#include "flow/libipt/libipt.h"
#include "flow/native/native.h"

/* All engines. NULL-ended. */
extern const struct flow_engine_class *const flow_engines[];
/* Returns the engine of this name, or NULL. */
const struct flow_engine_class *flow_engine_find(const char *name);
/* Returns the default engine. */
const struct flow_engine_class *flow_engine_default(void);

#endif
