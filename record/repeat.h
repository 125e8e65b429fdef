/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-record --until-failure: repeats a command until the command fails. */
#ifndef RECORD_REPEAT_H
#define RECORD_REPEAT_H

#include "record/capture/settings.h"

/*
 * Records run after run by `run`, each in a child process, until the command fails, until settings->runs, or until a
 * signal asks for the end. Keeps the traces of the failed run and of the last run that passed. Returns the exit status of
 * ptl-record.
 */
int record_repeat(const struct record_settings *settings, int (*run)(const struct record_settings *settings));

/* Checks that the options go with --until-failure. Returns an exit status; the error has been printed. */
int record_repeat_check(const struct record_settings *settings);

#endif
