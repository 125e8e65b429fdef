/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of named sessions. */
#ifndef RECORD_CONTROL_CONTROL_H
#define RECORD_CONTROL_CONTROL_H

#include "common/text/nearest.h"
#include "record/capture/settings.h"

/* Checks whether `word` is a command for sessions: list, query, update, flush, snapshot, stop. */
bool record_control_is_command(const char *word);
/* Adds the commands to the candidates for a mistyped word. */
void record_control_near(struct common_nearest *nearest);
/* Runs the command argv[0]. Returns the exit status of ptl-record. */
int record_control_command(int argc, char **argv);

/*
 * Starts the session settings->session_name in the background, where `run` is called. Returns the exit status of
 * ptl-record, after the session records or has failed.
 */
int record_control_start(struct record_settings *settings, int (*run)(const struct record_settings *settings));

#endif
