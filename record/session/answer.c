/* SPDX-License-Identifier: BSD-2-Clause */
/* Writes the rows of an answer. */
#include "record/session/answer.h"

#include "common/bytes.h"
#include "common/text/text.h"

#define LABEL_WIDTH 20

static void put_label(const struct record_answer *answer, const char *label)
{
	fprintf(answer->file, "%-*s", LABEL_WIDTH, label);
}

static void put_safe(const struct record_answer *answer, const char *text)
{
	struct ptl_bytes safe = {0};

	common_text_safe(&safe, text);
	fprintf(answer->file, "%s\n", common_text_string(&safe));
	common_bytes_free(&safe);
}

void record_answer_text(struct record_answer *answer, const char *label, const char *key, const char *text)
{
	if (answer->is_json) {
		common_json_string(&answer->json, key, text);
		return;
	}
	put_label(answer, label);
	put_safe(answer, text ? text : "-");
}

void record_answer_number(struct record_answer *answer, const char *label, const char *key,
			  enum record_answer_unit unit, uint64_t number)
{
	static void (*const writers[])(struct ptl_bytes * text, uint64_t value) = {
		[RECORD_ANSWER_NUMBER] = common_text_decimal,
		[RECORD_ANSWER_COUNT] = common_text_count,
		[RECORD_ANSWER_BYTES] = common_text_size,
		[RECORD_ANSWER_NANOSECONDS] = common_text_duration,
	};
	struct ptl_bytes text = {0};

	if (answer->is_json) {
		common_json_u64(&answer->json, key, number);
		return;
	}
	put_label(answer, label);
	writers[unit](&text, number);
	fprintf(answer->file, "%s\n", common_text_string(&text));
	common_bytes_free(&text);
}

void record_answer_list(struct record_answer *answer, const char *label, const char *key)
{
	if (answer->is_json)
		common_json_array(&answer->json, key);
	else
		fprintf(answer->file, "%s\n", label);
}

void record_answer_item(struct record_answer *answer, const char *text)
{
	if (answer->is_json) {
		common_json_string(&answer->json, NULL, text);
		return;
	}
	fputs("  ", answer->file);
	put_safe(answer, text);
}

void record_answer_list_end(struct record_answer *answer)
{
	if (answer->is_json)
		common_json_array_end(&answer->json);
}
