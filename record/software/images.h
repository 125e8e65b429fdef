/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a running process's code. */
#ifndef RECORD_SOFTWARE_IMAGES_H
#define RECORD_SOFTWARE_IMAGES_H

#include <stdint.h>

#include "record/capture/capture.h"

/*
 * Writes the files of the process's executable mappings into the trace before the process is stopped. This shortens the
 * stop during attaching.
 * PTL_NO_MEMORY, or the failure of the trace. An unreadable process is no failure.
 */
int software_images_read(struct record_capture *capture, uint32_t pid);

#endif
