/* SPDX-License-Identifier: BSD-2-Clause */
/* What this machine, and its kernel for this user, can record. */
#ifndef RECORD_CHECK_MACHINE_H
#define RECORD_CHECK_MACHINE_H

#include "record/check/list.h"

/* The processor, and its Intel PT as the kernel shows it. */
void check_processor(struct check_list *list);
/* What the kernel permits this user. */
void check_permissions(struct check_list *list);

#endif
