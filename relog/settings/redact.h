/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of redaction, from the command line and from files. */
#ifndef RELOG_SETTINGS_REDACT_H
#define RELOG_SETTINGS_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "relog/settings/pattern.h"

#define RELOG_REDACT_KEY_MAX 4096u

/* A rule's text, owned by the rule. For a regex: rule, the source of the expression. */
struct relog_redact_text {
	char *text;
	bool matched; /* something in a trace matched the rule */
};

struct relog_texts {
	struct relog_redact_text *list;
	size_t count;
};

/* Zero-initialised redacts nothing. */
struct relog_redact_rules {
	bool paths, users, host, commands, threads;
	struct relog_texts path_globs; /* paths that are redacted in addition */
	struct relog_texts keep_globs; /* paths that are not redacted */
	struct relog_texts literals;
	struct relog_texts fields; /* globs of Provider/Event.Field */
	struct relog_texts regexes;
	struct relog_pattern *patterns; /* compiled expressions, parallel to regexes */
	uint8_t *key;
	size_t key_size;
};

/*
 * Adds a rule: "paths", "users", "host", "commands", "threads", "all", "path:GLOB", "keep:GLOB", "text:STRING",
 * "regex:ERE", "field:GLOB". Returns PTL_MISUSE with the expected syntax in the error text; PTL_NO_MEMORY.
 */
int relog_redact_rule(struct relog_redact_rules *rules, const char *text);
/*
 * Adds the rules of a file, one per line. Skips empty lines and lines that begin with #. Returns the errors of
 * relog_redact_rule, and PTL_SYSTEM.
 */
int relog_redact_file(struct relog_redact_rules *rules, const char *path);
/* Reads the key, 16 to RELOG_REDACT_KEY_MAX arbitrary bytes, from a file. */
int relog_redact_key(struct relog_redact_rules *rules, const char *path);
/*
 * Chooses a random key if no key was read. Call after all rules were added; all uses of the rules share the key.
 * Returns PTL_SYSTEM, PTL_NO_MEMORY.
 */
int relog_redact_choose_key(struct relog_redact_rules *rules);
/*
 * Call after all runs with these rules: warns of rules that matched nothing. A mistyped rule leaves secrets in the
 * trace.
 */
void relog_redact_warn(const struct relog_redact_rules *rules);
bool relog_redact_wanted(const struct relog_redact_rules *rules);
/*
 * Whether each event can be redacted when the event comes. Not so with rules that learn secret words from later events,
 * such as names in paths and thread names.
 */
bool relog_redact_streams(const struct relog_redact_rules *rules);
void relog_redact_rules_free(struct relog_redact_rules *rules);

#endif
