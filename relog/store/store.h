/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Code stores: folders with the code, symbols and debug information of many traces. Each blob is stored once. See
 * docs/code-store.md.
 */
#ifndef RELOG_STORE_STORE_H
#define RELOG_STORE_STORE_H

#include "relog/settings/stage.h"

extern const struct relog_stage relog_stage_store;

#endif
