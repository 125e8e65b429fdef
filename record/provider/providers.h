/* SPDX-License-Identifier: BSD-2-Clause */
/* Collects the events of programs with providers: a session of docs/providers.md. */
#ifndef RECORD_PROVIDER_PROVIDERS_H
#define RECORD_PROVIDER_PROVIDERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "record/capture/capture.h"
#include "record/kernel/observer.h"

struct record_providers;

/*
 * Opens a session with the rules of capture->settings, and makes the command that is started from
 * now on a member of it (by our own environment). observer: gets the programs that write
 * events; NULL: nobody. PTL_SYSTEM, PTL_NO_MEMORY. All functions below that return an int return 0
 * or PTL_NO_MEMORY.
 */
int record_providers_open(struct record_capture *capture, struct record_observer *observer,
			  struct record_providers **providers);
/* Gives back everything; what was not finished is left to the next recorder. */
void record_providers_close(struct record_providers *providers);

/*
 * Turns a provider on, or gives it another level and keywords, or off, by the text of a rule; what there is to say goes to
 * notes. PTL_MISUSE, PTL_NOT_FOUND, PTL_SYSTEM.
 */
int record_providers_turn(struct record_providers *providers, const char *text, bool on, FILE *notes);
/* The i-th rule that is on; NULL: there are no more. */
const struct provider_shm_rule *record_providers_rule(const struct record_providers *providers, size_t i);

/* Takes what programs have written. */
int record_providers_step(struct record_providers *providers, uint64_t now);
/* Becomes readable when there is a program that may be new; -1: nothing does. */
int record_providers_watch(const struct record_providers *providers);
/* How many milliseconds to sleep at most until the next step. */
unsigned record_providers_patience(const struct record_providers *providers);

/* The end: asks for captures of state, turns everything off, takes what is left, reports losses. */
int record_providers_finish(struct record_providers *providers);

#endif
