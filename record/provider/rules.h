/* SPDX-License-Identifier: BSD-2-Clause */
/* What the command line asks of providers: NAME|GUID[:LEVEL[:KEYWORDS]]. */
#ifndef RECORD_PROVIDER_RULES_H
#define RECORD_PROVIDER_RULES_H

#include "provider/session_layout.h"

/*
 * Reads one; "*" is every provider, and a name with other * and ? stands for all that match. LEVEL: a number to 255 or a name, by default all. KEYWORDS: a
 * number, any of whose bits is enough, or "all". PTL_MISUSE, with a text that says what was expected.
 */
int record_provider_rule_parse(const char *text, struct provider_shm_rule *rule);

/* The name of a level, "" for one that has none. */
const char *record_level_name(unsigned level);

#endif
