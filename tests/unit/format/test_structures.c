/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests options, filters and callbacks from other versions: shorter, longer, and without a size. */
#include <string.h>
#include <unistd.h>

#include <ptl/error.h>
#include <ptl/reader.h>
#include <ptl/relogger.h>
#include <ptl/state.h>
#include <ptl/symbols.h>
#include <ptl/writer.h>

#include "common/structure.h"
#include "tests/unit/format_sample.h"

/* initial value of a result; a failure replaces it with NULL */
#define NO_RESULT ((void *)1)

/* A structure of a newer caller: the known members and one more. */
struct newer {
	union {
		size_t size;
		struct ptl_open_options open;
		struct ptl_realtime_options realtime;
		struct ptl_callbacks callbacks;
		struct ptl_event_filter filter;
		struct ptl_writer_options writer;
		struct ptl_relogger_options relogger;
		struct ptl_relogger_callbacks stage;
		struct ptl_rundown rundown;
		struct ptl_cut cut;
		uint8_t bytes[256];
	};
};

static struct ptl_trace *trace;
static struct ptl_relogger *relogger;

static int open_with(const struct newer *given)
{
	struct ptl_trace *opened = NO_RESULT;
	const int fd = sample_fd(), status = ptl_open_fd(fd, "sample", &given->open, &opened);

	/* An empty file is another error than wrong options. */
	assert_true(!opened == !!status);
	ptl_close(opened);
	close(fd);
	return status == PTL_TRUNCATED || status == PTL_NOT_OURS ? 0 : status;
}

static int open_realtime_with(const struct newer *given)
{
	struct ptl_trace *opened = NO_RESULT;
	int ends[2], status;

	assert_int_equal(pipe(ends), 0);
	close(ends[1]);
	status = ptl_open_realtime_fd(ends[0], "sample", &given->realtime, &opened);
	assert_true(!opened == !!status);
	ptl_close(opened);
	if (status)
		close(ends[0]);
	return status == PTL_TRUNCATED || status == PTL_NOT_OURS ? 0 : status;
}

static int open_within_realtime_with(const struct newer *given)
{
	struct newer realtime = {.realtime = {.size = sizeof(realtime.realtime), .open = &given->open}};

	return open_realtime_with(&realtime);
}

static int process_with(const struct newer *given)
{
	return ptl_process(trace, NULL, &given->callbacks, NULL);
}

static int filter_with(const struct newer *given)
{
	const struct ptl_callbacks callbacks = {.size = sizeof(callbacks)};

	return ptl_process(trace, &given->filter, &callbacks, NULL);
}

static int write_with(const struct newer *given)
{
	struct ptl_writer *writer = NO_RESULT;
	const int fd = sample_fd(), status = ptl_writer_open(fd, &given->writer, &writer);

	assert_true(!writer == !!status);
	if (status)
		close(fd);
	else
		assert_int_equal(ptl_writer_close(writer), 0);
	return status;
}

static int relog_with(const struct newer *given)
{
	struct ptl_relogger *made = NO_RESULT;
	const int status = ptl_relogger_new(&given->relogger, &made);

	assert_true(!made == !!status);
	ptl_relogger_free(made);
	return status;
}

static int stage_with(const struct newer *given)
{
	return ptl_relogger_callbacks(relogger, &given->stage, NULL);
}

static int cut_with(const struct newer *given)
{
	return ptl_relogger_cut(relogger, &given->cut);
}

static int rundown_with(const struct newer *given)
{
	struct ptl_state *state;
	int status;

	assert_int_equal(ptl_state_new(&state), 0);
	status = ptl_state_rundown(state, &given->rundown);
	ptl_state_free(state);
	return status;
}

static const struct {
	const char *name;
	size_t size;
	int (*call)(const struct newer *given);
} structures[] = {
	{"ptl_open_options", sizeof(struct ptl_open_options), open_with},
	{"ptl_open_options", sizeof(struct ptl_open_options), open_within_realtime_with},
	{"ptl_realtime_options", sizeof(struct ptl_realtime_options), open_realtime_with},
	{"ptl_callbacks", sizeof(struct ptl_callbacks), process_with},
	{"ptl_event_filter", sizeof(struct ptl_event_filter), filter_with},
	{"ptl_writer_options", sizeof(struct ptl_writer_options), write_with},
	{"ptl_relogger_options", sizeof(struct ptl_relogger_options), relog_with},
	{"ptl_relogger_callbacks", sizeof(struct ptl_relogger_callbacks), stage_with},
	{"ptl_rundown", sizeof(struct ptl_rundown), rundown_with},
	{"ptl_cut", sizeof(struct ptl_cut), cut_with},
};

/* Calls with a structure of `size` bytes, whose byte at `set` is 1; 0: all bytes are 0. */
static void expect(size_t i, size_t size, size_t set, int status, const char *text)
{
	struct newer given;

	memset(&given, 0, sizeof(given));
	given.size = size;
	if (set)
		given.bytes[set] = 1;
	ptl_error_clear();
	if (structures[i].call(&given) != status)
		fail_msg("%s of size %zu: %s", structures[i].name, size, ptl_error_text());
	if (text && (!strstr(ptl_error_text(), text) || !strstr(ptl_error_text(), structures[i].name)))
		fail_msg("%s of size %zu: %s", structures[i].name, size, ptl_error_text());
}

static void callers_of_other_versions_are_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(structures) / sizeof(structures[0]); i++) {
		const size_t size = structures[i].size;

		expect(i, size, 0, 0, NULL);
		expect(i, sizeof(size_t), 0, 0, NULL); /* an older caller has only this member */
		expect(i, size + 16, 0, 0, NULL);
		expect(i, size + 16, size + 8, PTL_UNSUPPORTED, "a newer version may");
		expect(i, 0, 0, PTL_MISUSE, "set it to sizeof");
		expect(i, 1 << 20, 0, PTL_MISUSE, "set it to sizeof");
	}
}

static void members_beyond_an_older_callers_are_0(void **state)
{
	const struct ptl_writer_options given = {
		.size = offsetof(struct ptl_writer_options, name), .level = 7, .name = "x"};
	struct ptl_writer_options taken;

	(void)state;
	assert_int_equal(common_structure_take("ptl_writer_options", &given, &taken, sizeof(taken)), 0);
	assert_int_equal(taken.level, 7);
	assert_null(taken.name);
}

static void a_failure_leaves_no_result(void **state)
{
	const uint8_t hash[PTL_HASH_SIZE] = {1};
	struct ptl_trace *opened = NO_RESULT;
	struct ptl_symbol_table *table = NO_RESULT;
	uint8_t *blob = NO_RESULT, *buffer = NO_RESULT;
	size_t size;

	(void)state;
	assert_int_equal(ptl_open("/nonexistent/file.ptl", NULL, &opened), PTL_SYSTEM);
	assert_null(opened);
	opened = NO_RESULT;
	assert_int_equal(ptl_open_realtime("/nonexistent/file.ptl", NULL, &opened), PTL_SYSTEM);
	assert_null(opened);
	assert_int_equal(ptl_symbols_decode(hash, sizeof(hash), &table), PTL_NOT_OURS);
	assert_null(table);
	assert_int_equal(ptl_blob_read(trace, hash, 1, &blob, &size), PTL_NOT_FOUND);
	assert_null(blob);
	assert_int_equal(ptl_buffer_read(trace, ptl_buffer_count(trace), &buffer, &size), PTL_MISUSE);
	assert_null(buffer);
}

static int set_up(void **state)
{
	const int fd = sample_fd();
	struct ptl_writer *writer;

	(void)state;
	if (ptl_writer_open(dup(fd), NULL, &writer) || ptl_writer_close(writer) ||
	    ptl_open_fd(fd, "sample", NULL, &trace))
		return -1;
	return ptl_relogger_new(NULL, &relogger);
}

static int tear_down(void **state)
{
	(void)state;
	ptl_relogger_free(relogger);
	ptl_close(trace);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_of_other_versions_are_understood),
		cmocka_unit_test(members_beyond_an_older_callers_are_0),
		cmocka_unit_test(a_failure_leaves_no_result),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
