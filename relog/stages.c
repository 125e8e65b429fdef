/* SPDX-License-Identifier: BSD-2-Clause */
/* The chain of stages. */
#include "relog/stages.h"

#include "relog/cut/announce.h"
#include "relog/cut/cut.h"
#include "relog/embed/embed.h"
#include "relog/redact/redact.h"
#include "relog/rules/stage.h"
#include "relog/store/store.h"

/* In the order in which events pass the stages; ends with NULL. */
static const struct relog_stage *const table[RELOG_STAGES_MAX + 1] = {&relog_stage_rules,
								      &relog_stage_announce,
								      &relog_stage_cut,
								      &relog_stage_embed,
								      &relog_stage_redact,
								      &relog_stage_store,
								      NULL};

int relog_stages_add(struct relog_stages *stages, const struct relog_settings *settings, struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; !status && table[i]; i++)
		status = table[i]->add(settings, relogger, &stages->state[i]);
	return status;
}

const char *relog_stages_rules(const struct relog_stages *stages)
{
	for (size_t i = 0; table[i]; i++)
		if (stages->state[i] && table[i]->rules)
			return table[i]->rules(stages->state[i]);
	return "";
}

void relog_stages_free(struct relog_stages *stages)
{
	for (size_t i = 0; table[i]; i++)
		if (stages->state[i])
			table[i]->free(stages->state[i]);
	*stages = (struct relog_stages){{NULL}};
}
