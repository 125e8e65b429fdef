/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes, parses and lists the file names of a series. */
#include "common/session/series.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/vector.h"

#define DIGITS 6      /* least digits of a number */
#define DIGITS_MAX 19 /* most digits that fit into 64 bits */

char *common_series_path(const char *stem, uint64_t number, const char *suffix)
{
	char *path;

	return asprintf(&path, "%s.%06" PRIu64 "%s", stem, number, suffix) < 0 ? NULL : path;
}

static const char *file_part_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool common_series_parse(const char *path, uint64_t number, size_t *stem, size_t *suffix)
{
	const char *name = file_part_of(path), *found = NULL;
	char text[32];
	const int size = snprintf(text, sizeof(text), ".%06" PRIu64, number);

	for (const char *at = name; (at = strstr(at, text)); at++)
		if (at > name && (!at[size] || at[size] == '.'))
			found = at;
	if (!found)
		return false;
	*stem = (size_t)(found - path);
	*suffix = *stem + (size_t)size;
	return true;
}

/* Returns the file's number in the series; 0 if the file is not in the series. */
static uint64_t series_number_of(const char *file, const char *name, const char *suffix)
{
	const size_t before = strlen(name), size = strlen(file), behind = strlen(suffix);
	size_t digits = 0;

	if (size <= before + 1 + behind || strncmp(file, name, before) != 0 || file[before] != '.')
		return 0;
	file += before + 1;
	while (isdigit((unsigned char)file[digits]))
		digits++;
	if (digits < DIGITS || digits > DIGITS_MAX || (digits > DIGITS && file[0] == '0') ||
	    strcmp(file + digits, suffix) != 0)
		return 0;
	return strtoull(file, NULL, 10);
}

static int by_number(const void *a, const void *b)
{
	const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

static int collect_numbers(DIR *folder, const char *name, const char *suffix, uint64_t after, uint64_t **numbers,
			   size_t *count)
{
	const struct dirent *entry;

	while (*count < COMMON_SERIES_FILES_MAX && (entry = readdir(folder))) {
		const uint64_t number = series_number_of(entry->d_name, name, suffix);

		if (number <= after)
			continue;
		if (!common_vector_room(numbers, *count, sizeof(**numbers)))
			return common_fail_memory("file names", *count * sizeof(**numbers));
		(*numbers)[(*count)++] = number;
	}
	return 0;
}

int common_series_list(const char *stem, const char *suffix, uint64_t after, uint64_t **numbers, size_t *count)
{
	const char *name = file_part_of(stem);
	char *place = name > stem ? strndup(stem, (size_t)(name - stem)) : strdup(".");
	DIR *folder;
	int status;

	*numbers = NULL;
	*count = 0;
	if (!place)
		return common_fail_memory("a file name", strlen(stem));
	folder = opendir(place);
	status = folder ? collect_numbers(folder, name, suffix, after, numbers, count)
			: common_fail(PTL_NOT_FOUND, "cannot read the folder %s", place);
	if (folder)
		closedir(folder);
	free(place);
	if (status) {
		free(*numbers);
		*numbers = NULL;
		*count = 0;
	} else if (*count) {
		qsort(*numbers, *count, sizeof(**numbers), by_number);
	}
	return status;
}
