/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses address filters of users, "filter main @ ./prog", and writes filters for the kernel, "filter
 * 0x1139/0x20@/home/me/prog": an offset in the file, a size, and the file.
 *
 * The driver accepts ranges only: "filter" records a range, and "stop" (TraceStop) ends recording in a range. The
 * driver lacks "start" of the kernel's syntax.
 */
#include "record/intel_pt/filter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/program/options.h"
#include "common/text/text.h"
#include "record/image/binary.h"

#define WORD_MAX 1024
#define EXPECTED                                                                                                       \
	"\"filter FUNCTION @ FILE\", \"filter FIRST / LAST-OR-SIZE @ FILE\", \"filter * @ FILE\" or \"stop ...\""

struct filter {
	char action[8];
	char first[WORD_MAX];  /* a function, an offset in the file, or "*" */
	char second[WORD_MAX]; /* last function or size; empty without */
	char path[WORD_MAX];
	uint64_t offset, size;
};

/* ---- parsing --------------------------------------------------------------------------------- */

/* Copies the text without surrounding blanks. Returns false if the text is too long. */
static bool copy_word(char *word, size_t room, const char *text, size_t size)
{
	while (size && strchr(" \t", *text)) {
		text++;
		size--;
	}
	while (size && strchr(" \t", text[size - 1]))
		size--;
	if (size >= room)
		return false;
	memcpy(word, text, size);
	word[size] = 0;
	return true;
}

static bool split_filter(const char *text, struct filter *filter)
{
	const size_t action = strcspn(text, " \t");
	const char *rest = text + action, *at = strchr(rest, '@'), *slash;

	/* Symbols may contain an @ before a version: the last separate @ begins the file. */
	for (const char *next = at; next; next = strchr(next + 1, '@'))
		if (next > rest && strchr(" \t", next[-1]))
			at = next;
	if (!at)
		return false;
	slash = memchr(rest, '/', (size_t)(at - rest));
	return copy_word(filter->action, sizeof(filter->action), text, action) &&
	       copy_word(filter->first, sizeof(filter->first), rest, (size_t)((slash ? slash : at) - rest)) &&
	       (!slash || copy_word(filter->second, sizeof(filter->second), slash + 1, (size_t)(at - slash - 1))) &&
	       copy_word(filter->path, sizeof(filter->path), at + 1, strlen(at + 1)) && filter->first[0] &&
	       filter->path[0];
}

static int parse_filter(const char *text, struct filter *filter)
{
	*filter = (struct filter){.action = ""};
	if (!split_filter(text, filter))
		return common_fail(PTL_MISUSE, "expected " EXPECTED);
	if (!strcmp(filter->action, "start"))
		return common_fail(PTL_UNSUPPORTED,
				   "Intel PT cannot begin at an address: it has ranges that are recorded "
				   "(filter) and ranges that end the recording (stop)");
	if (strcmp(filter->action, "filter") != 0 && strcmp(filter->action, "stop") != 0)
		return common_fail(PTL_MISUSE, "\"%s\": expected " EXPECTED, filter->action);
	return 0;
}

/* ---- offsets in the file -------------------------------------------------------------------- */

static int resolve_first(const struct record_binary *binary, struct filter *filter, uint64_t *end)
{
	if (!strcmp(filter->first, "*")) {
		filter->offset = 0;
		*end = binary->size;
		return 0;
	}
	if (common_parse_u64(filter->first, &filter->offset) == 0) {
		*end = filter->offset;
		return 0;
	}
	return record_binary_function(binary, filter->first, &filter->offset, end);
}

static int resolve_symbol(const struct record_binary *binary, struct filter *filter)
{
	uint64_t end, size, unused;
	int status = resolve_first(binary, filter, &end);

	if (status == 0 && filter->second[0] && common_parse_u64(filter->second, &size) == 0)
		end = filter->offset + size;
	else if (status == 0 && filter->second[0])
		status = record_binary_function(binary, filter->second, &unused, &end);
	if (status < 0)
		return status;
	if (end <= filter->offset)
		return common_fail(PTL_MISUSE,
				   "the range is empty: an offset needs a size, as in \"filter 0x1000 / 0x20\"");
	if (filter->offset >= binary->size || end > binary->size)
		return common_fail(PTL_MISUSE, "the range is not in the file, which has %llu bytes",
				   (unsigned long long)binary->size);
	filter->size = end - filter->offset;
	return 0;
}

/* ---- the kernel's text ----------------------------------------------------------------------- */

/* Finds the file's absolute path, in fresh memory, and the range in the file. */
static int resolve_range(struct filter *filter, char **path)
{
	struct record_binary binary;
	int status;

	*path = realpath(filter->path, NULL);
	if (!*path)
		return common_fail_errno("%s", filter->path);
	status = record_binary_open(*path, &binary);
	if (status == 0) {
		status = resolve_symbol(&binary, filter);
		record_binary_close(&binary);
	}
	if (status < 0) {
		free(*path);
		*path = NULL;
	}
	return status;
}

static int add_filter(const char *text, struct ptl_bytes *filters)
{
	struct filter filter;
	char *path = NULL;
	int status = parse_filter(text, &filter);

	if (status == 0)
		status = resolve_range(&filter, &path);
	/* Blanks and commas separate filters. */
	if (status == 0 && strpbrk(path, " ,\n"))
		status = common_fail(PTL_UNSUPPORTED, "the kernel takes no path with blanks or commas here: %s", path);
	if (status == 0)
		common_text_format(filters, "%s%s 0x%llx/0x%llx@%s", filters->size ? "," : "", filter.action,
				   (unsigned long long)filter.offset, (unsigned long long)filter.size, path);
	free(path);
	return status;
}

int intel_pt_function_find(const char *text, char **path, uint64_t *offset)
{
	struct ptl_bytes words = {0};
	struct filter filter;
	uint64_t number;
	int status;

	*path = NULL;
	common_text_format(&words, "stop %s", text);
	status = words.failed ? common_fail_memory("a function", words.size)
			      : parse_filter(common_text_string(&words), &filter);
	common_bytes_free(&words);
	if (status < 0 || filter.second[0] || !strcmp(filter.first, "*"))
		return status == PTL_NO_MEMORY ? status : common_fail(PTL_MISUSE, "expected \"FUNCTION @ FILE\"");
	/* A single offset parses as a range of size 1. */
	if (common_parse_u64(filter.first, &number) == 0)
		snprintf(filter.second, sizeof(filter.second), "1");
	status = resolve_range(&filter, path);
	*offset = filter.offset;
	return status;
}

int intel_pt_filter_make(const struct intel_pt_device *device, const struct record_pt_settings *settings, char **filter)
{
	const struct common_string_list *texts = &settings->filters;
	const uint32_t most = device->caps[INTEL_PT_CAP_IP_FILTERING] ? device->filters_max : 0;
	struct ptl_bytes filters = {0};
	int status = 0;

	*filter = NULL;
	if (!texts->count)
		return 0;
	if (texts->count > most)
		return common_fail(PTL_UNSUPPORTED, "%zu address filters: this CPU has %u", texts->count, most);
	for (size_t i = 0; status == 0 && i < texts->count; i++) {
		status = add_filter(texts->list[i], &filters);
		if (status < 0)
			status = common_fail_in(status, "--filter \"%s\"", texts->list[i]);
	}
	if (status == 0) {
		*filter = strdup(common_text_string(&filters));
		if (!*filter || filters.failed)
			status = common_fail_memory("address filters", filters.size);
	}
	common_bytes_free(&filters);
	return status;
}
