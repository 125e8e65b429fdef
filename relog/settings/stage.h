/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ptl-relog can do to a trace: a chain of stages, each a set of relogger callbacks (ptl/relogger.h tells
 * what a stage sees, in which order, and how one learns of the whole trace first). The table in stages.c is the
 * order of the chain: rules, cutting, what a trace lacks, redaction, code stores; each sees what the one before let through or added.
 */
#ifndef RELOG_SETTINGS_STAGE_H
#define RELOG_SETTINGS_STAGE_H

#include <ptl/relogger.h>

#include "relog/settings/settings.h"

struct relog_stage {
	const char *name; /* "cut" */
	/*
	 * Adds its callbacks to the relogger if the settings ask for it; *state is then its own, and is the context of its
	 * callbacks as it likes. Called after all inputs were added. Says nothing and adds nothing otherwise.
	 */
	int (*add)(const struct relog_settings *settings, struct ptl_relogger *relogger, void **state);
	void (*free)(void *state); /* called with what add left in *state, if that is not NULL */
	/* The text of its rules, for the provenance record; may be NULL. Called as free is. */
	const char *(*rules)(const void *state);
};

#define RELOG_STAGES_MAX 8

/* The states of all stages; zero-initialised is none. */
struct relog_stages {
	void *state[RELOG_STAGES_MAX];
};

int relog_stages_add(struct relog_stages *stages, const struct relog_settings *settings, struct ptl_relogger *relogger);
/* The rules of the first stage that has some, or "". */
const char *relog_stages_rules(const struct relog_stages *stages);
void relog_stages_free(struct relog_stages *stages);

#endif
