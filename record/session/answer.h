/* SPDX-License-Identifier: BSD-2-Clause */
/* What a session says of itself: the same rows as text and as JSON. */
#ifndef RECORD_SESSION_ANSWER_H
#define RECORD_SESSION_ANSWER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "common/text/json.h"

struct record_answer {
	FILE *file;
	bool is_json;
	struct common_json json; /* started on file */
};

/* How text shows a number; JSON has it as it is. */
enum record_answer_unit {
	RECORD_ANSWER_NUMBER, /* digits: a pid, bits */
	RECORD_ANSWER_COUNT,
	RECORD_ANSWER_BYTES,
	RECORD_ANSWER_NANOSECONDS,
};

/* A row: "label: text", or a member `key`. NULL is "-", or null. */
void record_answer_text(struct record_answer *answer, const char *label, const char *key, const char *text);
void record_answer_number(struct record_answer *answer, const char *label, const char *key,
			  enum record_answer_unit unit, uint64_t number);
/* A list of rows of texts: `label` before the first one in text, an array of strings in JSON. */
void record_answer_list(struct record_answer *answer, const char *label, const char *key);
void record_answer_item(struct record_answer *answer, const char *text);
void record_answer_list_end(struct record_answer *answer);

#endif
