/* SPDX-License-Identifier: BSD-2-Clause */
/* The two sides of ptl-dump images: what was mapped, and what ran without being mapped by any image. */
#ifndef DUMP_COMMAND_IMAGES_H
#define DUMP_COMMAND_IMAGES_H

#include "dump/session/command.h"
#include "flow/timeline/timeline.h"

/* images --unmapped: decodes what the session's options select, and ranks the addresses. */
int dump_images_unmapped(struct dump_session *session, const struct flow_timeline *timeline);

#endif
