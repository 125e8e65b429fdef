/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of engines. */
#include "flow/engine/engine.h"

#include <string.h>

#include "flow/libipt/engine.h"

const struct ptl_engine_class *const ptl_engines[] = {
	&ptl_engine_native,
	&ptl_engine_libipt,
	&ptl_engine_libipt_insn,
	NULL,
};

const struct ptl_engine_class *ptl_engine_find(const char *name)
{
	for (size_t i = 0; ptl_engines[i]; i++) {
		if (!strcmp(ptl_engines[i]->name, name))
			return ptl_engines[i];
	}
	return NULL;
}

const struct ptl_engine_class *ptl_engine_default(void)
{
	return &ptl_engine_native;
}
