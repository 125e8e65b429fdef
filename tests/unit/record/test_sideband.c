/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes out of the kernel's records, in whatever order the rings give them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <linux/perf_event.h>

#include "common/bytes.h"
#include "record/kernel/sideband.h"

#define LATE 1000000000u

struct seen {
	size_t count;
	struct record_past last;
	char names[256]; /* of its steps, "e:" or "m:" before each */
};

static int see(void *context, const struct record_past *past)
{
	struct seen *seen = context;

	seen->count++;
	seen->last = *past;
	seen->names[0] = 0;
	for (size_t i = 0; i < past->step_count; i++) {
		const size_t used = strlen(seen->names);

		snprintf(seen->names + used, sizeof(seen->names) - used, "%s:%s ",
			 past->steps[i].kind == RECORD_STEP_EXEC ? "e" : "m", past->steps[i].name);
	}
	return 0;
}

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

static struct seen take(struct record_sideband *sideband, uint64_t now, bool all)
{
	struct seen seen = {0};
	uint64_t lost = 0;

	assert_int_equal(record_sideband_take(sideband, now, all, see, &seen, &lost), 0);
	return seen;
}

static void a_child_that_executes(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	struct seen seen;

	(void)state;
	put_exec(sideband, 10, "sh", 100);
	put_map(sideband, 10, "/bin/sh", 110);
	/* From another CPU's ring, which was emptied first. */
	put_task(sideband, PERF_RECORD_EXIT, 11, 10, 11, 500);
	put_map(sideband, 11, "/bin/true", 300);
	put_exec(sideband, 11, "true", 290);
	put_task(sideband, PERF_RECORD_FORK, 11, 10, 11, 200);
	seen = take(sideband, LATE, false);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.names, "e:sh m:/bin/sh e:true m:/bin/true ");
	assert_int_equal(seen.last.pid, 11);
	assert_int_equal(seen.last.parent, 10);
	assert_int_equal(seen.last.start, 200);
	assert_int_equal(seen.last.end, 500);
	assert_int_equal(seen.last.inherited, 2);
	assert_true(seen.last.parent_is_same);
	record_sideband_close(sideband);
}

static void a_child_whose_parent_went_on(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	struct seen seen;

	(void)state;
	put_exec(sideband, 10, "sh", 100);
	put_task(sideband, PERF_RECORD_FORK, 11, 10, 11, 200);
	put_exec(sideband, 10, "make", 300);
	put_task(sideband, PERF_RECORD_EXIT, 11, 10, 11, 400);
	seen = take(sideband, LATE, false);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.names, "e:sh ");
	assert_false(seen.last.parent_is_same);
	record_sideband_close(sideband);
}

static void the_last_thread_ends_a_process(void **state)
{
	struct record_sideband *sideband = record_sideband_new();

	(void)state;
	put_task(sideband, PERF_RECORD_FORK, 11, 10, 11, 100);
	put_task(sideband, PERF_RECORD_FORK, 11, 11, 12, 200);
	put_task(sideband, PERF_RECORD_EXIT, 11, 10, 11, 300);
	assert_int_equal(take(sideband, LATE, false).count, 0);
	put_task(sideband, PERF_RECORD_EXIT, 11, 10, 12, 400);
	assert_int_equal(take(sideband, LATE, false).count, 1);
	record_sideband_close(sideband);
}

static void what_is_new_waits_for_other_cpus(void **state)
{
	struct record_sideband *sideband = record_sideband_new();

	(void)state;
	put_task(sideband, PERF_RECORD_FORK, 11, 10, 11, LATE - 10);
	put_task(sideband, PERF_RECORD_EXIT, 11, 10, 11, LATE);
	assert_int_equal(take(sideband, LATE, false).count, 0);
	assert_int_equal(take(sideband, LATE, true).count, 1);
	record_sideband_close(sideband);
}

static void starts_are_known_before_they_are_taken(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	struct seen seen = {0};
	uint64_t lost = 0, start = 0;

	(void)state;
	put_exec(sideband, 7, "command", 10);
	put_task(sideband, PERF_RECORD_FORK, 8, 7, 8, 20);
	put_task(sideband, PERF_RECORD_FORK, 8, 8, 9, 30); /* a thread */
	assert_false(record_sideband_start(sideband, 7, &start));
	assert_true(record_sideband_start(sideband, 8, &start));
	assert_int_equal(start, 20);
	assert_int_equal(record_sideband_take(sideband, LATE, true, see, &seen, &lost), 0);
	assert_false(record_sideband_start(sideband, 7, &start));
	assert_true(record_sideband_start(sideband, 8, &start));
	assert_int_equal(start, 20);
	/* The pid is another process's, and neither is taken yet. */
	put_task(sideband, PERF_RECORD_FORK, 8, 7, 8, 50);
	put_task(sideband, PERF_RECORD_EXIT, 8, 7, 9, 40);
	put_task(sideband, PERF_RECORD_EXIT, 8, 7, 8, 41);
	assert_true(record_sideband_start(sideband, 8, &start));
	assert_int_equal(start, 50);
	assert_int_equal(record_sideband_take(sideband, LATE, true, see, &seen, &lost), 0);
	assert_true(record_sideband_start(sideband, 8, &start));
	assert_int_equal(start, 50);
	assert_int_equal(seen.count, 1);
	assert_false(record_sideband_start(sideband, 9, &start));
	record_sideband_close(sideband);
}

static void losses_are_counted(void **state)
{
	struct record_sideband *sideband = record_sideband_new();
	struct ptl_bytes body = {0};
	struct seen seen = {0};
	uint64_t lost = 1;

	(void)state;
	common_write_le(&body, 5, 8);
	common_write_le(&body, 7, 8);
	put(sideband, &body, PERF_RECORD_LOST, 0, 100);
	assert_int_equal(record_sideband_take(sideband, LATE, true, see, &seen, &lost), 0);
	assert_int_equal(lost, 8);
	record_sideband_close(sideband);
}

static void what_makes_no_sense_is_left_out(void **state)
{
	static const uint32_t types[] = {PERF_RECORD_FORK,  PERF_RECORD_EXIT, PERF_RECORD_COMM,
					 PERF_RECORD_MMAP2, PERF_RECORD_LOST, 99};
	struct record_sideband *sideband = record_sideband_new();

	(void)state;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct perf_event_header header = {.type = types[i], .misc = PERF_RECORD_MISC_COMM_EXEC};
		struct ptl_bytes body = {0};

		assert_int_equal(record_sideband_put(sideband, &header, sizeof(header)), 0);
		for (size_t size = 0; size < 24; size += 8) {
			common_write_le(&body, UINT64_MAX, 8);
			put(sideband, &body, types[i], PERF_RECORD_MISC_COMM_EXEC, 100);
			body = (struct ptl_bytes){0};
			common_bytes_grow(&body, size);
		}
		common_bytes_free(&body);
	}
	put_task(sideband, PERF_RECORD_EXIT, 20, 10, 20, 400);
	(void)take(sideband, LATE, true);
	record_sideband_close(sideband);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_that_executes),
		cmocka_unit_test(a_child_whose_parent_went_on),
		cmocka_unit_test(the_last_thread_ends_a_process),
		cmocka_unit_test(what_is_new_waits_for_other_cpus),
		cmocka_unit_test(starts_are_known_before_they_are_taken),
		cmocka_unit_test(losses_are_counted),
		cmocka_unit_test(what_makes_no_sense_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
