/* SPDX-License-Identifier: BSD-2-Clause */
/* What is to be redacted: rules as the command line and files give them. */
#ifndef RELOG_SETTINGS_REDACT_H
#define RELOG_SETTINGS_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relog/settings/pattern.h"

#define RELOG_REDACT_KEY_MAX 4096u

/* A rule's text, which belongs to it; of a regex: rule, its source. */
struct relog_redact_text {
	char *text;
	bool met; /* something in a trace was as it says */
};

struct relog_texts {
	struct relog_redact_text *list;
	size_t count;
};

/* Zero-initialised redacts nothing. */
struct relog_redact_rules {
	bool paths, users, host, commands, threads;
	struct relog_texts path_globs; /* paths that are redacted, too */
	struct relog_texts keep_globs; /* paths that are not */
	struct relog_texts literals;
	struct relog_texts fields; /* globs of Provider/Event.Field */
	struct relog_texts regexes;
	struct relog_pattern *patterns; /* one for each of regexes */
	uint8_t *key;
	size_t key_size;
};

/*
 * Adds one rule: "paths", "users", "host", "commands", "threads", "all", "path:GLOB", "keep:GLOB", "text:STRING",
 * "regex:ERE", "field:GLOB". PTL_MISUSE says what was expected; PTL_NO_MEMORY.
 */
int relog_redact_rule(struct relog_redact_rules *rules, const char *text);
/* Adds the rules of a file: one a line; empty lines and those that begin with # are skipped. Also PTL_SYSTEM. */
int relog_redact_file(struct relog_redact_rules *rules, const char *path);
/* Reads the key: 16 to RELOG_REDACT_KEY_MAX bytes of any kind. */
int relog_redact_key(struct relog_redact_rules *rules, const char *path);
/*
 * Once all rules are there: without a key a random one is chosen, the same for all that these rules are used for.
 * PTL_SYSTEM, PTL_NO_MEMORY.
 */
int relog_redact_choose_key(struct relog_redact_rules *rules);
/*
 * After the runs that these rules are used for: warns of those that nothing was as they say. A rule with a slip in it leaves what
 * it was to remove.
 */
void relog_redact_warn(const struct relog_redact_rules *rules);
bool relog_redact_wanted(const struct relog_redact_rules *rules);
/* Whether what goes is known when it comes: no word becomes a secret by what comes later, as names in paths and of threads do. */
bool relog_redact_streams(const struct relog_redact_rules *rules);
void relog_redact_rules_free(struct relog_redact_rules *rules);

#endif
