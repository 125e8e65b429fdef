/* SPDX-License-Identifier: BSD-2-Clause */
/* Schemas of the kernel's classes, for stages that create events of these classes. */
#ifndef RELOG_SETTINGS_KERNEL_SCHEMAS_H
#define RELOG_SETTINGS_KERNEL_SCHEMAS_H

#include <ptl/relogger.h>

/*
 * Writes the schemas of the kernel's classes that no input has; a trace of Windows has only schemas of Windows. Returns
 * the errors of ptl_relogger_schema.
 */
int relog_kernel_schemas_write(struct ptl_relogger *relogger);

#endif
