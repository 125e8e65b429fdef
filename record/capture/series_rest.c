/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists the remaining files of a series, and the number of events recorded before each file. */
#include "record/capture/series_rest.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/text/text.h"

static void add_field(struct ptl_bytes *text, const char *field)
{
	common_write_bytes(text, field, strlen(field) + 1);
}

/* Makes the folder absolute: a reader has another working directory. */
void record_series_stem_absolute(const struct record_series *series, struct ptl_bytes *text)
{
	const char *stem = record_series_stem(series), *slash = strrchr(stem, '/');
	char *folder = slash ? strndup(stem, (size_t)(slash - stem) + 1) : NULL;
	char *absolute = folder || !slash ? realpath(folder ? folder : ".", NULL) : NULL;

	if (absolute && strcmp(absolute, "/") != 0)
		common_text_add(text, absolute);
	if (absolute)
		common_text_add(text, "/");
	add_field(text, absolute && slash ? slash + 1 : stem);
	free(absolute);
	free(folder);
}

static void add_stem(struct ptl_bytes *text, const struct record_series *series)
{
	record_series_stem_absolute(series, text);
	if (text->size && !text->failed)
		text->size--;
	add_field(text, ".");
}

/* Opens the newest file first, because the series removes the oldest file first. */
static void open_memory(struct record_series_rest *rest, const struct record_series *series, uint64_t first,
			uint64_t last)
{
	for (uint64_t number = last; number >= first && rest->descriptor_count < COMMON_SESSION_DESCRIPTORS_MAX;
	     number--) {
		char *path = record_series_kept_path(series, number);
		const int fd = path ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC) : -1;

		free(path);
		if (fd < 0)
			return;
		rest->descriptors[rest->descriptor_count++] = fd;
	}
}

static void add_number(struct ptl_bytes *text, uint64_t number)
{
	common_text_decimal(text, number);
	add_field(text, "");
}

struct record_series_rest record_series_rest(const struct record_series *series, uint64_t events)
{
	const bool in_memory = record_series_in_memory(series);
	struct record_series_rest rest = {0};
	struct record_series_range range = record_series_range(series);

	if (in_memory) {
		open_memory(&rest, series, range.first, range.last);
		range.first = range.last + 1 - rest.descriptor_count;
	}
	common_text_format(&rest.text, "%" PRIu64 " %" PRIu64, range.first, range.last);
	add_field(&rest.text, "");
	if (in_memory)
		add_field(&rest.text, "");
	else
		add_stem(&rest.text, series);
	add_field(&rest.text, in_memory ? "" : record_series_suffix(series));
	add_number(&rest.text, events);
	for (uint64_t number = range.last; number >= range.first_marked; number--)
		add_number(&rest.text, record_series_events_before(series, number));
	return rest;
}

void record_series_rest_free(struct record_series_rest *rest)
{
	while (rest->descriptor_count)
		close(rest->descriptors[--rest->descriptor_count]);
	common_bytes_free(&rest->text);
	*rest = (struct record_series_rest){0};
}
