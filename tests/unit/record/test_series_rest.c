/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the report of an ended series: files, and amounts recorded before each file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/session/session_folder.h"
#include "record/capture/series_rest.h"

static const struct record_settings settings = {.mode = RECORD_MODE_NEWFILE, .keep = 3};
static const struct record_settings in_memory = {.mode = RECORD_MODE_REALTIME};

/* Makes a series with files of ten events each. */
static struct record_series *make(const struct record_settings *with, const char *path, uint64_t files)
{
	struct record_series *series;

	assert_int_equal(record_series_new(with, path, &series), 0);
	for (uint64_t i = 0; i < files; i++) {
		const int fd = with == &in_memory ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;
		struct record_series_file file = {.path = strdup("unused"), .memory = fd};

		record_series_take(series, &file);
		record_series_mark(series, &(struct record_series_mark){.events = 10 * i});
	}
	return series;
}

struct fields {
	const char *at, *end;
};

static const char *next(struct fields *fields)
{
	const char *field = fields->at;

	assert_true(field < fields->end && memchr(field, 0, (size_t)(fields->end - field)));
	fields->at += strlen(field) + 1;
	return field;
}

static struct fields fields_of(const struct record_series_rest *rest)
{
	assert_false(rest->text.failed);
	return (struct fields){(const char *)rest->text.data, (const char *)rest->text.data + rest->text.size};
}

static void files_and_counts(void **state)
{
	struct record_series *series = make(&settings, "name.with.dots.ptl", 5);
	struct record_series_rest rest = record_series_rest(series, 47);
	struct fields fields = fields_of(&rest);
	char folder[4096], stem[4200];

	(void)state;
	assert_non_null(getcwd(folder, sizeof(folder)));
	snprintf(stem, sizeof(stem), "%s/name.with.dots.", folder);
	assert_string_equal(next(&fields), "3 5");
	assert_string_equal(next(&fields), stem);
	assert_string_equal(next(&fields), ".ptl");
	for (const char *const *count = (const char *const[]){"47", "40", "30", "20", "10", "0", NULL}; *count; count++)
		assert_string_equal(next(&fields), *count);
	assert_ptr_equal(fields.at, fields.end);
	assert_int_equal(rest.descriptor_count, 0);
	record_series_rest_free(&rest);
	record_series_free(series);
}

static void names_in_other_folders(void **state)
{
	static const char *const names[][2] = {
		{"/name", "/name."}, {"/usr/../name.ptl", "/name."}, {"/tmp/name.ptl", "/tmp/name."}};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct record_series *series = make(&settings, names[i][0], 1);
		struct record_series_rest rest = record_series_rest(series, 1);
		struct fields fields = fields_of(&rest);

		assert_string_equal(next(&fields), "1 1");
		assert_string_equal(next(&fields), names[i][1]);
		record_series_rest_free(&rest);
		record_series_free(series);
	}
}

/* The longest name, and more files than the report covers. */
static void fits_into_a_message(void **state)
{
	enum { FILES = 5000, KNOWN = 4096, LONGEST = 4080 };
	char *name = malloc(LONGEST + 1);
	struct record_series *series;
	struct record_series_rest rest;
	struct fields fields;
	size_t count = 0;

	(void)state;
	assert_non_null(name);
	memset(name, 'n', LONGEST);
	memcpy(name, "/nowhere/", 9);
	name[LONGEST] = 0;
	series = make(&settings, name, FILES);
	rest = record_series_rest(series, UINT64_MAX);
	fields = fields_of(&rest);
	assert_string_equal(next(&fields), "4998 5000");
	assert_int_equal(strlen(next(&fields)), LONGEST + 1);
	assert_string_equal(next(&fields), "");
	assert_string_equal(next(&fields), "18446744073709551615");
	for (; fields.at < fields.end; count++)
		assert_int_equal(strtoull(next(&fields), NULL, 10), 10 * (FILES - 1 - count));
	assert_int_equal(count, KNOWN);
	/* also with the maximal number of digits in each count */
	assert_true(rest.text.size < LONGEST + KNOWN * (size_t)7 &&
		    LONGEST + 100 + (KNOWN + 1) * (size_t)21 < COMMON_SESSION_MESSAGE_MAX);
	record_series_rest_free(&rest);
	record_series_free(series);
	free(name);
}

static void files_in_memory(void **state)
{
	struct record_series *series = make(&in_memory, "memory", 20);
	struct record_series_rest rest = record_series_rest(series, 200);
	struct fields fields = fields_of(&rest);

	(void)state;
	assert_string_equal(next(&fields), "13 20");
	assert_string_equal(next(&fields), "");
	assert_string_equal(next(&fields), "");
	assert_string_equal(next(&fields), "200");
	assert_string_equal(next(&fields), "190");
	assert_int_equal(rest.descriptor_count, 8);
	for (size_t i = 0; i < rest.descriptor_count; i++)
		assert_true(fcntl(rest.descriptors[i], F_GETFD) & FD_CLOEXEC);
	record_series_rest_free(&rest);
	record_series_free(series);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_and_counts),
		cmocka_unit_test(names_in_other_folders),
		cmocka_unit_test(fits_into_a_message),
		cmocka_unit_test(files_in_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
