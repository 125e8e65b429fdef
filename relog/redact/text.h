/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Redacts strings: what the rules name becomes tokens, the same one for the same text under the same key. A token is
 * "x" and ten letters and digits of HMAC-SHA256.
 */
#ifndef RELOG_REDACT_TEXT_H
#define RELOG_REDACT_TEXT_H

#include "common/bytes.h"
#include "relog/settings/redact.h"
#include "relog/redact/words.h"

enum relog_text_kind {
	RELOG_TEXT,    /* may hold paths, names, anything */
	RELOG_PATH,    /* is one path as a whole */
	RELOG_COMMAND, /* a command line */
	RELOG_THREAD,  /* name of a thread */
	RELOG_SECRET,  /* goes as a whole */
};

struct relog_redactor {
	const struct relog_redact_rules *rules;
	uint8_t key[32];
	bool own; /* what is redacted now is this run's command line, which has the rules: that it matches them means nothing */
	/* Words that are redacted wherever they stand: parts of redacted paths, users, the host. */
	struct relog_words words;
};

/* rules stay the caller's, and have a key. */
void relog_redactor_open(struct relog_redactor *redactor, const struct relog_redact_rules *rules);
void relog_redactor_close(struct relog_redactor *redactor);

/* Learns the words of what will be redacted in such a text. PTL_NO_MEMORY. */
int relog_redactor_learn(struct relog_redactor *redactor, enum relog_text_kind kind, const char *text);
int relog_redactor_learn_word(struct relog_redactor *redactor, const char *word, size_t size);

/* Appends what becomes of text, with a zero byte, to out. PTL_NO_MEMORY. */
int relog_redact_text(struct relog_redactor *redactor, enum relog_text_kind kind, const char *text,
		      struct ptl_bytes *out);
/* The same by the rules text: and regex: alone. */
int relog_redact_matches(struct relog_redactor *redactor, const char *text, struct ptl_bytes *out);
/*
 * Overwrites in place, size unchanged, what the rules and the learnt words find among bytes of any kind, as UTF-8 or
 * UTF-16. *changed becomes true, or stays. PTL_NO_MEMORY.
 */
int relog_redact_raw(struct relog_redactor *redactor, uint8_t *data, size_t size, bool *changed);

#define RELOG_STRING_MIN 8u /* characters; shorter ones between zero bytes are common among instructions */
/*
 * Whether there is something to overwrite in bytes that may be instructions: texts of rules of 4 bytes or more, and
 * all else in strings of RELOG_STRING_MIN characters that stand between zero bytes. *found becomes true, or stays.
 */
int relog_redact_find(struct relog_redactor *redactor, const uint8_t *data, size_t size, bool *found);

#endif
