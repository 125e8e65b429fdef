/* SPDX-License-Identifier: BSD-2-Clause */
/* The two outputs of ptl-dump images: mapped images, and executed code outside images. */
#ifndef DUMP_COMMAND_IMAGES_H
#define DUMP_COMMAND_IMAGES_H

#include "dump/run/command.h"
#include "flow/timeline/timeline.h"

/*
 * images --unmapped: decodes the selected flow, and prints executed addresses outside images, the most missing bytes
 * first.
 */
int dump_images_unmapped(struct dump_run *run, const struct flow_timeline *timeline);

#endif
