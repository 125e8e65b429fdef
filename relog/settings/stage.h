/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What ptl-relog can do to a trace: a chain of stages, each a set of relogger callbacks (ptl/relogger.h tells
 * what a stage sees, in which order, and how one learns of the whole trace first). The table in relog/stages.c is the
 * order of the chain: rules, late reports, cutting, what a trace lacks, redaction, code stores. Each stage sees what the stage before
 * let through or added.
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

#endif
