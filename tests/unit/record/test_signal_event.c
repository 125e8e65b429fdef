/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests records of the tracepoint of signals. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/bytes.h"
#include "record/perf/signal_event.h"

static const struct record_signal_event event = {.id = 260, .signal_offset = 8, .code_offset = 16};

/* A record of `size` bytes: signal 11, si_code -6. declared: size that the record states. */
static bool read_record(const struct record_signal_event *from, uint32_t declared, size_t size, uint32_t *signal,
			int32_t *code)
{
	/* Memory of the exact size, so that a sanitizer sees a read beyond the end. */
	uint8_t *bytes = calloc(1, size + 4);
	uint8_t whole[64] = {0};
	bool result;

	common_store32(whole, declared);
	common_store32(whole + 4 + 8, 11);
	common_store32(whole + 4 + 16, (uint32_t)-6);
	memcpy(bytes, whole, size + 4);
	result = record_signal_event_read(from, bytes, size + 4, signal, code);
	free(bytes);
	return result;
}

static void whole_records(void **state)
{
	uint32_t signal = 0;
	int32_t code = 0;

	(void)state;
	assert_true(read_record(&event, 40, 40, &signal, &code));
	assert_int_equal(signal, 11);
	assert_int_equal(code, -6);
	assert_true(read_record(&event, 20, 20, &signal, &code));
}

static void short_records(void **state)
{
	const struct record_signal_event unknown = {0}, far = {.id = 1, .signal_offset = UINT32_MAX, .code_offset = 8};
	uint32_t signal;
	int32_t code;

	(void)state;
	for (uint32_t size = 0; size < 20; size++) {
		assert_false(read_record(&event, 40, size, &signal, &code));
		/* The record states fewer bytes than follow. */
		assert_false(read_record(&event, size, 40, &signal, &code));
	}
	assert_false(read_record(&unknown, 40, 40, &signal, &code));
	assert_false(read_record(&far, 40, 40, &signal, &code));
	assert_false(record_signal_event_read(&event, "\0\0", 3, &signal, &code));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_records),
		cmocka_unit_test(short_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
