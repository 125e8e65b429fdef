/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of engines. */
#include "flow/view/engines.h"

#include <string.h>

const struct flow_engine_class *const flow_engines[] = {
	&flow_engine_native,
#ifndef FLOW_WITHOUT_LIBIPT /* set by `make static` */
	&flow_engine_libipt,
	&flow_engine_libipt_insn,
#endif
	NULL,
};

const struct flow_engine_class *flow_engine_find(const char *name)
{
	for (size_t i = 0; flow_engines[i]; i++) {
		if (!strcmp(flow_engines[i]->name, name))
			return flow_engines[i];
	}
	return NULL;
}

const struct flow_engine_class *flow_engine_default(void)
{
	return &flow_engine_native;
}
