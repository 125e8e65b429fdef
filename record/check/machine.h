/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds items about the machine, and about permissions of the user. */
#ifndef RECORD_CHECK_MACHINE_H
#define RECORD_CHECK_MACHINE_H

#include "record/check/list.h"

/* Adds items about the processor, and about Intel PT as shown by the kernel. */
void check_processor(struct check_list *list);
/* Adds items about the kernel's permissions for the user. */
void check_permissions(struct check_list *list);

#endif
