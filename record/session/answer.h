/* SPDX-License-Identifier: BSD-2-Clause */
/* A session's answer about itself: the same rows as text and as JSON. */
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

/* Format of a number in the text. JSON has the plain number. */
enum record_answer_unit {
	RECORD_ANSWER_NUMBER, /* digits: a pid, bits */
	RECORD_ANSWER_COUNT,
	RECORD_ANSWER_BYTES,
	RECORD_ANSWER_NANOSECONDS,
};

/* Writes a row "label: text", or the JSON member `key`. A text of NULL becomes "-" in the text and null in JSON. */
void record_answer_text(struct record_answer *answer, const char *label, const char *key, const char *text);
void record_answer_number(struct record_answer *answer, const char *label, const char *key,
			  enum record_answer_unit unit, uint64_t number);
/* Writes a list with a row for each item. Text shows `label` before the first item; JSON has an array of strings. */
void record_answer_list(struct record_answer *answer, const char *label, const char *key);
void record_answer_item(struct record_answer *answer, const char *text);
void record_answer_list_end(struct record_answer *answer);

#endif
