/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Redacts strings: texts that the rules name become tokens. With the same key, a text always becomes the same token. A
 * token is "x" and ten letters and digits of HMAC-SHA256.
 */
#ifndef RELOG_REDACT_TEXT_H
#define RELOG_REDACT_TEXT_H

#include "common/bytes.h"
#include "relog/settings/redact.h"
#include "relog/redact/words.h"

enum relog_text_kind {
	RELOG_TEXT,    /* any text; may contain paths and names */
	RELOG_PATH,    /* a single path */
	RELOG_COMMAND, /* a command line */
	RELOG_THREAD,  /* name of a thread */
	RELOG_SECRET,  /* redacted as a whole */
};

struct relog_redactor {
	const struct relog_redact_rules *rules;
	uint8_t key[32];
	bool own; /* the text is this run's command line, which contains the rules: matches do not count */
	/* Words that are redacted everywhere: components of redacted paths, users, the host. */
	struct relog_words words;
};

/* rules stay the caller's, and must have a key. */
void relog_redactor_open(struct relog_redactor *redactor, const struct relog_redact_rules *rules);
void relog_redactor_close(struct relog_redactor *redactor);

/* Learns the words of the parts of text that will be redacted. Returns PTL_NO_MEMORY. */
int relog_redactor_learn(struct relog_redactor *redactor, enum relog_text_kind kind, const char *text);
int relog_redactor_learn_word(struct relog_redactor *redactor, const char *word, size_t size);

/* Appends the redacted text with a zero byte to out. Returns PTL_NO_MEMORY. */
int relog_redact_text(struct relog_redactor *redactor, enum relog_text_kind kind, const char *text,
		      struct ptl_bytes *out);
/* As relog_redact_text, but applies only the rules text: and regex:. */
int relog_redact_matches(struct relog_redactor *redactor, const char *text, struct ptl_bytes *out);
/*
 * Overwrites text in arbitrary bytes, UTF-8 or UTF-16, found by the rules and the learnt words. The size stays the
 * same. *changed becomes true after a change. Returns PTL_NO_MEMORY.
 */
int relog_redact_raw(struct relog_redactor *redactor, uint8_t *data, size_t size, bool *changed);

#define RELOG_STRING_MIN 8u /* characters; shorter strings between zero bytes are common among instructions */
/*
 * Searches bytes that may be instructions for text to redact: rule texts of at least 4 bytes, and any other match
 * within strings of at least RELOG_STRING_MIN characters between zero bytes. *found becomes true after a match. Returns
 * PTL_NO_MEMORY.
 */
int relog_redact_find(struct relog_redactor *redactor, const uint8_t *data, size_t size, bool *found);

#endif
