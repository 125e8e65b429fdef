/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of named sessions. */
#ifndef RECORD_CONTROL_CONTROL_H
#define RECORD_CONTROL_CONTROL_H

#include "common/text/nearest.h"
#include "record/capture/settings.h"

/* Whether ptl-record has a command of this name that asks a session: list, query, update, flush, snapshot, stop. */
bool record_control_is_command(const char *word);
/* Which of them may be meant by a word that is none. */
void record_control_near(struct common_nearest *nearest);
/* Runs it; argv[0] is its name. Returns ptl-record's exit status. */
int record_control_command(int argc, char **argv);

/*
 * Starts a session in the background, of settings->session_name: run is called there. Returns when it records, or has failed,
 * with ptl-record's exit status.
 */
int record_control_start(struct record_settings *settings, int (*run)(const struct record_settings *settings));

#endif
