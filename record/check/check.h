/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-record check: one screen on what this machine can record. */
#ifndef RECORD_CHECK_CHECK_H
#define RECORD_CHECK_CHECK_H

#include "record/check/list.h"

/*
 * argv begins with the word "check". add_sources adds what is known of the sources of this machine. Returns an exit
 * status, and has said on stderr what went wrong.
 */
int record_check(int argc, char **argv, void (*add_sources)(struct check_list *list));

#endif
