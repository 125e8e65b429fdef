/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Fuzzes files of tracefs. The first byte selects the file: '0' available_events, '1' the format of a tracepoint, '2'
 * uprobe_events.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "record/kernel_event/tracefs_text.h"

#define PATTERN "sched:*"
#define NAME "sched:sched_swich"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *copy_of(const char *text)
{
	char *copy = strdup(text);

	if (!copy)
		abort();
	return copy;
}

/* Checks that names are lines of the text. */
static void read_events(const char *text)
{
	struct common_string_list names = {0};
	char *copy = copy_of(text);
	struct common_nearest nearest = {.word = NAME};

	if (record_tracefs_text_matching(copy, PATTERN, &names) < 0)
		abort();
	for (size_t i = 0; i < names.count; i++) {
		if (strncmp(names.list[i], PATTERN, strlen(PATTERN) - 1) != 0 || strchr(names.list[i], '\n'))
			abort();
		free((char *)names.list[i]);
	}
	free(names.list);
	free(copy);
	copy = copy_of(text);
	record_tracefs_text_nearest(copy, &nearest);
	if (nearest.best && (strchr(nearest.best, '\n') || !strstr(text, nearest.best)))
		abort();
	free(copy);
}

static void read_format(const char *text)
{
	static const size_t rooms[] = {1, 2, 40, 1024};

	if (record_tracefs_text_id(text) && !strstr(text, "ID: "))
		abort();
	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		/* exact size, for the sanitizer */
		char *copy = copy_of(text), *names = malloc(rooms[i]);

		if (!names)
			abort();
		record_tracefs_text_fields(copy, names, rooms[i]);
		if (!memchr(names, 0, rooms[i]))
			abort();
		free(names);
		free(copy);
	}
}

static void read_probes(char *text)
{
	struct record_tracefs_probe probe;
	char *rest = NULL;

	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		if (!record_tracefs_text_probe(line, &probe))
			continue;
		/* The probe is removed by this name, which must belong to a recorder. */
		if (strncmp(probe.name, "ptl_", 4) != 0 || !memchr(probe.name, '/', probe.name_size) ||
		    memchr(probe.name, ' ', probe.name_size) || probe.name_size > strlen(line))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	if (!text)
		abort();
	memcpy(text, data + 1, size - 1);
	text[size - 1] = 0;
	if (data[0] == '0')
		read_events(text);
	else if (data[0] == '1')
		read_format(text);
	else if (data[0] == '2')
		read_probes(text);
	free(text);
	return 0;
}
