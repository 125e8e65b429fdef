/* SPDX-License-Identifier: BSD-2-Clause */
/* The runtime's image, built into ptl-record. */
#ifndef RECORD_SOFTWARE_IMAGE_H
#define RECORD_SOFTWARE_IMAGE_H

#include <stdint.h>

#include "record/channel/shared/channel.h"

/* Sets the sizes and the entry of the runtime. */
void software_image_describe(struct channel_config *config);

/* Writes the memory image of the runtime to `out`. `out` has config->runtime_size zero bytes. */
void software_image_write(const struct channel_config *config, uint8_t *out);

#endif
