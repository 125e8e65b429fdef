/* SPDX-License-Identifier: BSD-2-Clause */
/* Adds symbols and debug information that images of a trace lack. */
#ifndef RELOG_EMBED_EMBED_H
#define RELOG_EMBED_EMBED_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_embed;

#endif
