/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds events against the terms of --only. */
#include "record/capture/filter.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <string.h>

#include "common/error.h"
#include "common/options.h"
#include "common/text.h"

void record_filter_free(struct record_filter *filter)
{
	common_id_set_free(&filter->pids);
	common_id_set_free(&filter->ids);
	common_bytes_free(&filter->programs);
	*filter = (struct record_filter){0};
}

/* ---- terms ----------------------------------------------------------------------------------- */

static int set_numbers(struct common_id_set *set, const char *value)
{
	struct common_id_set numbers = {0};
	const int status = *value ? common_id_set_parse(&numbers, value) : 0;

	if (status < 0) {
		common_id_set_free(&numbers);
		return status;
	}
	common_id_set_free(set);
	*set = numbers;
	return 0;
}

static int set_pids(struct record_filter *filter, const char *value)
{
	return set_numbers(&filter->pids, value);
}

static int set_ids(struct record_filter *filter, const char *value)
{
	return set_numbers(&filter->ids, value);
}

static int set_keywords(struct record_filter *filter, const char *value)
{
	uint64_t keywords = 0;

	if (*value && common_parse_u64(value, &keywords) < 0)
		return common_fail(PTL_MISUSE, "\"%s\" are no keywords: a number such as 0x6", value);
	filter->keywords = keywords;
	return 0;
}

static int set_programs(struct record_filter *filter, const char *value)
{
	struct ptl_bytes programs = {0};

	while (*value) {
		const size_t size = strcspn(value, ",");

		if (!size || memchr(value, '/', size)) {
			common_bytes_free(&programs);
			return common_fail(PTL_MISUSE, "'%.*s' is no pattern of a program's name, which has no folders",
					   (int)size, value);
		}
		common_write_bytes(&programs, value, size);
		common_write_bytes(&programs, "", 1);
		value += size + (value[size] == ',');
	}
	if (programs.failed) {
		common_bytes_free(&programs);
		return common_fail_memory("patterns", strlen(value));
	}
	common_bytes_free(&filter->programs);
	filter->programs = programs;
	return 0;
}

static const struct {
	const char *name;
	int (*set)(struct record_filter *filter, const char *value);
} terms[] = {
	{"pid=", set_pids},
	{"program=", set_programs},
	{"id=", set_ids},
	{"keywords=", set_keywords},
};

#define TERMS (sizeof(terms) / sizeof(terms[0]))

int record_filter_set(struct record_filter *filter, const char *term)
{
	for (size_t i = 0; i < TERMS; i++)
		if (!strncmp(term, terms[i].name, strlen(terms[i].name)))
			return terms[i].set(filter, term + strlen(terms[i].name));
	return common_fail(PTL_MISUSE, "'%s' is none of pid=PID,..., program=PATTERN,..., id=ID,... and keywords=BITS",
			   term);
}

/* ---- as they are shown ----------------------------------------------------------------------- */

static void write_numbers(struct ptl_bytes *text, const struct common_id_set *set)
{
	for (size_t i = 0; i < set->count; i++)
		common_text_format(text, "%s%" PRIu32, i ? "," : "", set->ids[i]);
}

static void write_programs(struct ptl_bytes *text, const struct ptl_bytes *programs)
{
	const char *const all = (const char *)programs->data;

	for (size_t at = 0; at < programs->size; at += strlen(all + at) + 1)
		common_text_format(text, "%s%s", at ? "," : "", all + at);
}

const char *record_filter_term(const struct record_filter *filter, unsigned i, struct ptl_bytes *text)
{
	const bool given[TERMS] = {filter->pids.count, filter->programs.size, filter->ids.count, filter->keywords};

	for (size_t n = 0; n < TERMS; n++) {
		if (!given[n] || i--)
			continue;
		text->size = 0;
		common_text_format(text, "%s", terms[n].name);
		if (n == 0 || n == 2)
			write_numbers(text, n ? &filter->ids : &filter->pids);
		else if (n == 1)
			write_programs(text, &filter->programs);
		else
			common_text_format(text, "0x%" PRIx64, filter->keywords);
		return common_text_string(text);
	}
	return NULL;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool is_program(const struct ptl_bytes *programs, const char *path)
{
	const char *const all = (const char *)programs->data;

	for (size_t at = 0; path && at < programs->size; at += strlen(all + at) + 1)
		if (fnmatch(all + at, common_base_name(path), 0) == 0)
			return true;
	return false;
}

bool record_filter_wants(const struct record_filter *filter, const char *program, const struct ptl_event *event,
			 bool kernel)
{
	if (!common_id_set_has(&filter->pids, event->pid))
		return false;
	if (!kernel && !common_id_set_has(&filter->ids, event->descriptor.id))
		return false;
	if (!kernel && (event->descriptor.keyword & filter->keywords) != filter->keywords)
		return false;
	return !filter->programs.size || is_program(&filter->programs, program);
}
