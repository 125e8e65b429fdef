/* SPDX-License-Identifier: BSD-2-Clause */
/* The runtime's image, which is part of ptl-record. */
#ifndef RECORD_SOFTWARE_IMAGE_H
#define RECORD_SOFTWARE_IMAGE_H

#include <stdint.h>

#include "record/channel/shared/channel.h"

/* Sets the sizes and the entry of the runtime. */
void software_image_describe(struct channel_config *config);

/* Writes its image, as it lies in memory, to `out`, where there are config->runtime_size zero bytes. */
void software_image_write(const struct channel_config *config, uint8_t *out);

#endif
