/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests that every event of the kernel has the class and the action of its schema's name. */
#include "tests/unit/format_sample.h"

#include "common/text/guid.h"
#include "format/event/kernel_class.h"

/* Names of schemas, as in ETW. */
static const struct {
	const char *name;
	enum format_class class;
	enum format_action action;
} expected[] = {
	{"Process/Start", FORMAT_CLASS_PROCESS, FORMAT_ACTION_BEGIN},
	{"Process/End", FORMAT_CLASS_PROCESS, FORMAT_ACTION_END},
	{"Process/DCStart", FORMAT_CLASS_PROCESS, FORMAT_ACTION_START_RUNDOWN},
	{"Process/DCEnd", FORMAT_CLASS_PROCESS, FORMAT_ACTION_END_RUNDOWN},
	{"Process/Exec", FORMAT_CLASS_PROCESS, FORMAT_ACTION_EXEC},
	{"Thread/Start", FORMAT_CLASS_THREAD, FORMAT_ACTION_BEGIN},
	{"Thread/End", FORMAT_CLASS_THREAD, FORMAT_ACTION_END},
	{"Thread/DCStart", FORMAT_CLASS_THREAD, FORMAT_ACTION_START_RUNDOWN},
	{"Thread/DCEnd", FORMAT_CLASS_THREAD, FORMAT_ACTION_END_RUNDOWN},
	{"Thread/CSwitch", FORMAT_CLASS_SWITCH, FORMAT_ACTION_SWITCH},
	{"Image/Load", FORMAT_CLASS_IMAGE, FORMAT_ACTION_BEGIN},
	{"Image/Unload", FORMAT_CLASS_IMAGE, FORMAT_ACTION_END},
	{"Image/DCStart", FORMAT_CLASS_IMAGE, FORMAT_ACTION_START_RUNDOWN},
	{"Image/DCEnd", FORMAT_CLASS_IMAGE, FORMAT_ACTION_END_RUNDOWN},
	{"Image/Protect", FORMAT_CLASS_IMAGE, FORMAT_ACTION_PROTECT},
	{"Code/Change", FORMAT_CLASS_CODE, FORMAT_ACTION_CODE},
	{"Signal/Fatal", FORMAT_CLASS_SIGNAL, FORMAT_ACTION_SIGNAL},
};

#define EXPECTED (sizeof(expected) / sizeof(expected[0]))

static size_t find_expected(const char *name)
{
	size_t i = 0;

	while (i < EXPECTED && strcmp(expected[i].name, name) != 0)
		i++;
	assert_true(i < EXPECTED);
	return i;
}

static void every_schema_is_classified(void **state)
{
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);

	(void)state;
	assert_int_equal(count, EXPECTED);
	for (size_t i = 0; i < count; i++) {
		const size_t which = find_expected(schemas[i]->event_name);
		const struct ptl_descriptor descriptor = {.provider = schemas[i]->provider,
							  .opcode = schemas[i]->opcode};
		const enum format_class class = format_class_of(&descriptor);

		assert_int_equal(class, expected[which].class);
		assert_int_equal(format_action_of(class, descriptor.opcode), expected[which].action);
	}
}

/* The first bytes alone decide nothing. */
static void others_have_no_class(void **state)
{
	struct ptl_descriptor descriptor = {.provider = PTL_PROVIDER_KERNEL, .opcode = PTL_OPCODE_START};

	(void)state;
	assert_int_equal(format_class_of(&descriptor), FORMAT_CLASS_NONE);
	descriptor.provider = PTL_PROVIDER_PROCESS;
	descriptor.provider.bytes[15] ^= 1;
	assert_int_equal(format_class_of(&descriptor), FORMAT_CLASS_NONE);
	assert_int_equal(format_action_of(FORMAT_CLASS_NONE, PTL_OPCODE_START), FORMAT_ACTION_OTHER);
	/* The same opcode is a load for images, and unknown for threads. */
	assert_int_equal(format_action_of(FORMAT_CLASS_THREAD, PTL_OPCODE_LOAD), FORMAT_ACTION_OTHER);
}

static void decoded_events_name_their_process(void **state)
{
	const struct ptl_thread_event thread = {.process_id = 7, .thread_id = 8, .name = "t"};
	const struct ptl_switch_event switched = {.new_thread = 8, .old_thread = 9};
	struct ptl_bytes payload = {0}, storage = {0};
	struct ptl_event event = {0};
	struct format_kernel_event decoded;

	(void)state;
	assert_done(ptl_thread_encode(&thread, PTL_OPCODE_END, &payload, &event));
	assert_done(format_kernel_decode(&event, &storage, &decoded));
	assert_int_equal(decoded.class, FORMAT_CLASS_THREAD);
	assert_int_equal(decoded.action, FORMAT_ACTION_END);
	assert_int_equal(decoded.pid, 7);
	assert_int_equal(decoded.tid, 8);
	event.payload_size = 3;
	assert_int_equal(format_kernel_decode(&event, &storage, &decoded), PTL_TRUNCATED);
	assert_int_equal(decoded.class, FORMAT_CLASS_THREAD);
	assert_int_equal(decoded.pid, PTL_NO_ID);

	payload.size = 0;
	assert_done(ptl_switch_encode(&switched, &payload, &event));
	assert_done(format_kernel_decode(&event, &storage, &decoded));
	assert_int_equal(decoded.class, FORMAT_CLASS_SWITCH);
	assert_int_equal(decoded.pid, PTL_NO_ID);
	assert_int_equal(decoded.switched.old_thread, 9);

	event.descriptor.provider = PTL_PROVIDER_KERNEL;
	assert_int_equal(format_kernel_decode(&event, &storage, &decoded), PTL_NOT_OURS);
	assert_int_equal(decoded.class, FORMAT_CLASS_NONE);
	common_bytes_free(&payload);
	common_bytes_free(&storage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_schema_is_classified),
		cmocka_unit_test(others_have_no_class),
		cmocka_unit_test(decoded_events_name_their_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
