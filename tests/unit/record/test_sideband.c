/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's records, in whatever order the rings give them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>
#include <sys/sysmacros.h>

#include "common/bytes.h"
#include "record/perf/sideband.h"

#define LATE 1000000000u

static void put(struct record_sideband *sideband, struct ptl_bytes *body, uint32_t type, uint16_t misc, uint64_t time)
{
	struct ptl_bytes record = {0};

	common_write_le(&record, type, 4);
	common_write_le(&record, misc, 2);
	common_write_le(&record, (uint16_t)(8 + body->size + 16), 2);
	common_write_bytes(&record, body->data, body->size);
	common_write_le(&record, 0, 8);
	common_write_le(&record, time, 8);
	assert_int_equal(record_sideband_put(sideband, record.data, record.size), 0);
	common_bytes_free(&record);
	common_bytes_free(body);
}

static void put_task(struct record_sideband *sideband, uint32_t type, uint32_t pid, uint32_t parent, uint32_t tid,
		     uint64_t time)
{
	struct ptl_bytes body = {0};

	common_write_le(&body, pid, 4);
	common_write_le(&body, parent, 4);
	common_write_le(&body, tid, 4);
	common_write_le(&body, parent, 4);
	common_write_le(&body, time, 8);
	put(sideband, &body, type, 0, time);
}

static void put_exec(struct record_sideband *sideband, uint32_t pid, const char *name, uint64_t time)
{
	struct ptl_bytes body = {0};

	common_write_le(&body, pid, 4);
	common_write_le(&body, pid, 4);
	common_write_bytes(&body, name, strlen(name) + 1);
	put(sideband, &body, PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC, time);
}

static void put_map(struct record_sideband *sideband, uint32_t pid, const char *name, uint64_t time)
{
	struct ptl_bytes body = {0};

	common_write_le(&body, pid, 4);
	common_write_le(&body, pid, 4);
	common_write_le(&body, 0x400000, 8);
	common_write_le(&body, 0x1000, 8);
	common_write_le(&body, 0x2000, 8);
	common_write_le(&body, 8, 4);
	common_write_le(&body, 1, 4);
	common_write_le(&body, 77, 8);
	common_write_le(&body, 0, 8);
	common_write_le(&body, 5, 4);
	common_write_le(&body, 0, 4);
	common_write_bytes(&body, name, strlen(name) + 1);
	put(sideband, &body, PERF_RECORD_MMAP2, 0, time);
}

/* The next record as text: "fork 11/12<10/10 @200". */
static const char *next(struct record_sideband *sideband, uint64_t until)
{
	static const char *const kinds[] = {"none", "fork", "exit", "name", "exec", "map", "lost"};
	const struct record_sideband_record *record = record_sideband_next(sideband, until);
	static char text[256];
	int length;

	if (!record)
		return "";
	length = snprintf(text, sizeof(text), "%s %u/%u", kinds[record->kind], record->pid, record->tid);
	if (record->parent_pid)
		length += snprintf(text + length, sizeof(text) - (size_t)length, "<%u", record->parent_pid);
	if (record->name[0])
		length += snprintf(text + length, sizeof(text) - (size_t)length, " %s", record->name);
	snprintf(text + length, sizeof(text) - (size_t)length, " @%llu", (unsigned long long)record->time);
	return text;
}

/* In order of time, whatever ring they came from. */
static void records_come_in_order(void **state)
{
	struct record_sideband *sideband = record_sideband_new();

	(void)state;
	put_exec(sideband, 10, "sh", 100);
	put_map(sideband, 10, "/bin/sh", 110);
	put_task(sideband, PERF_RECORD_EXIT, 11, 10, 11, 500);
	put_map(sideband, 11, "/bin/true", 300);
	put_exec(sideband, 11, "true", 290);
	put_task(sideband, PERF_RECORD_FORK, 11, 10, 11, 200);
	assert_int_equal(record_sideband_due(sideband), 100);
	assert_string_equal(next(sideband, LATE), "exec 10/10 sh @100");
	assert_string_equal(next(sideband, LATE), "map 10/10 /bin/sh @110");
	/* Of the same time, the first to come is first. */
	put_task(sideband, PERF_RECORD_FORK, 11, 11, 12, 500);
	assert_string_equal(next(sideband, LATE), "fork 11/11<10 @200");
	assert_string_equal(next(sideband, LATE), "exec 11/11 true @290");
	assert_string_equal(next(sideband, LATE), "map 11/11 /bin/true @300");
	assert_string_equal(next(sideband, LATE), "exit 11/11<10 @500");
	assert_string_equal(next(sideband, LATE), "fork 11/12<11 @500");
	assert_string_equal(next(sideband, LATE), "");
	assert_int_equal(record_sideband_due(sideband), UINT64_MAX);
	record_sideband_close(sideband);
}

static void what_is_new_waits_for_other_cpus(void **state)
{
	struct record_sideband *sideband = record_sideband_new();

	(void)state;
	put_exec(sideband, 10, "late", 101);
	assert_string_equal(next(sideband, 100), "");
	put_exec(sideband, 10, "early", 100);
	assert_string_equal(next(sideband, 100), "exec 10/10 early @100");
	assert_string_equal(next(sideband, 100), "");
	assert_int_equal(record_sideband_due(sideband), 101);
	assert_string_equal(next(sideband, UINT64_MAX), "exec 10/10 late @101");
	record_sideband_close(sideband);
}

static void a_mapping_has_all_its_fields(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;

	(void)state;
	put_map(sideband, 11, "/bin/true", 300);
	record = record_sideband_next(sideband, LATE);
	assert_non_null(record);
	assert_int_equal(record->base, 0x400000);
	assert_int_equal(record->size, 0x1000);
	assert_int_equal(record->file_offset, 0x2000);
	assert_int_equal(record->device, makedev(8, 1));
	assert_int_equal(record->inode, 77);
	assert_int_equal(record->protection, 5);
	record_sideband_close(sideband);
}

static void a_name_is_no_program(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	struct ptl_bytes body = {0};

	(void)state;
	common_write_le(&body, 10, 4);
	common_write_le(&body, 12, 4);
	common_write_bytes(&body, "worker\0\0", 8);
	put(sideband, &body, PERF_RECORD_COMM, 0, 7);
	assert_string_equal(next(sideband, LATE), "name 10/12 worker @7");
	record_sideband_close(sideband);
}

/* What the consumer has noted stays with its record. */
static void notes_wait_with_their_records(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;

	(void)state;
	put_exec(sideband, 10, "b", 200);
	put_exec(sideband, 11, "a", 100);
	common_write_bytes(&record_sideband_waiting(sideband, 0)->note, "noted", 5);
	assert_null(record_sideband_waiting(sideband, 2));
	record = record_sideband_next(sideband, LATE);
	assert_int_equal(record->note.size, 0);
	for (uint32_t i = 0; i < 1000; i++)
		put_exec(sideband, 12 + i, "c", 300 + i);
	record = record_sideband_next(sideband, LATE);
	assert_int_equal(record->pid, 10);
	assert_memory_equal(record->note.data, "noted", 5);
	record_sideband_close(sideband);
}

static void losses_are_counted(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;
	struct ptl_bytes body = {0};

	(void)state;
	common_write_le(&body, 5, 8);
	common_write_le(&body, 7, 8);
	put(sideband, &body, PERF_RECORD_LOST, 0, 100);
	record = record_sideband_next(sideband, LATE);
	assert_int_equal(record->kind, RECORD_SIDEBAND_LOST);
	assert_int_equal(record->lost, 7);
	record_sideband_close(sideband);
}

static void what_makes_no_sense_is_of_no_kind(void **state)
{
	static const uint32_t types[] = {PERF_RECORD_FORK,  PERF_RECORD_EXIT, PERF_RECORD_COMM,
					 PERF_RECORD_MMAP2, PERF_RECORD_LOST, 99};
	struct record_sideband *sideband = record_sideband_new();
	const struct record_sideband_record *record;
	struct ptl_bytes body = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct perf_event_header header = {.type = types[i], .misc = PERF_RECORD_MISC_COMM_EXEC};

		assert_int_equal(record_sideband_put(sideband, &header, sizeof(header)), 0);
		/* Too short, or, of a name, without its end. */
		common_write_le(&body, UINT64_MAX, 8);
		put(sideband, &body, types[i], PERF_RECORD_MISC_COMM_EXEC, 100);
		if (types[i] != PERF_RECORD_COMM && types[i] != PERF_RECORD_MMAP2)
			continue;
		for (int word = 0; word < 12; word++)
			common_write_le(&body, UINT64_MAX, 8);
		put(sideband, &body, types[i], PERF_RECORD_MISC_COMM_EXEC, 100);
	}
	while ((record = record_sideband_next(sideband, UINT64_MAX)))
		assert_int_equal(record->kind, RECORD_SIDEBAND_NONE);
	record_sideband_close(sideband);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_in_order),
		cmocka_unit_test(what_is_new_waits_for_other_cpus),
		cmocka_unit_test(a_mapping_has_all_its_fields),
		cmocka_unit_test(a_name_is_no_program),
		cmocka_unit_test(notes_wait_with_their_records),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(what_makes_no_sense_is_of_no_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
