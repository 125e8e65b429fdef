/* SPDX-License-Identifier: BSD-2-Clause */
/* ptl-record check: shows on one screen the machine's abilities to record. */
#ifndef RECORD_CHECK_CHECK_H
#define RECORD_CHECK_CHECK_H

#include "record/check/list.h"

/*
 * argv: begins with the word "check". add_sources: adds items about the sources of this machine.
 * Returns an exit status. Errors have been printed to stderr.
 */
int record_check(int argc, char **argv, void (*add_sources)(struct check_list *list));

#endif
