/* SPDX-License-Identifier: BSD-2-Clause */
/* The chain of all stages. A stage is defined in relog/settings/stage.h. */
#ifndef RELOG_STAGES_H
#define RELOG_STAGES_H

#include "relog/settings/stage.h"

#define RELOG_STAGES_MAX 8

/* State of all stages. Zero-initialised: no stages. */
struct relog_stages {
	void *state[RELOG_STAGES_MAX];
};

int relog_stages_add(struct relog_stages *stages, const struct relog_settings *settings, struct ptl_relogger *relogger);
/* Returns the rules of the first stage with rules, or "". */
const char *relog_stages_rules(const struct relog_stages *stages);
void relog_stages_free(struct relog_stages *stages);

#endif
