/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A stage of ptl-relog: a set of relogger callbacks that change a trace. ptl/relogger.h says which data a stage sees,
 * in which order, and how a stage can read the whole trace first. The table in relog/stages.c has the order of stages:
 * rules, late reports, cutting, missing symbols, redaction, code stores. A stage sees the data that the previous stage
 * has passed on or added.
 */
#ifndef RELOG_SETTINGS_STAGE_H
#define RELOG_SETTINGS_STAGE_H

#include <ptl/relogger.h>

#include "relog/settings/settings.h"

struct relog_stage {
	const char *name; /* "cut" */
	/*
	 * If the settings ask for the stage, adds its callbacks to the relogger and sets *state, which may be the
	 * callbacks' context. Else leaves *state. Called after all inputs were added. Prints nothing.
	 */
	int (*add)(const struct relog_settings *settings, struct ptl_relogger *relogger, void **state);
	void (*free)(void *state); /* called with *state of `add` unless NULL */
	/* Optional. Returns the rule text for the provenance record. Called with *state of `add` unless NULL. */
	const char *(*rules)(const void *state);
};

#endif
