/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules for providers on the command line: NAME|GUID[:LEVEL[:KEYWORDS]]. */
#ifndef RECORD_PROVIDER_RULES_H
#define RECORD_PROVIDER_RULES_H

#include "provider/session_layout.h"

/*
 * Parses a rule. NAME: "*" matches every provider; other names may contain * and ?. LEVEL: a number up to 255, or a
 * name; default all. KEYWORDS: a mask of which one bit suffices, or "all".
 * Fails with PTL_MISUSE and a text that names the expected value.
 */
int record_provider_rule_parse(const char *text, struct provider_shm_rule *rule);

/* Returns the name of a level; "" without a name. */
const char *record_level_name(unsigned level);

#endif
