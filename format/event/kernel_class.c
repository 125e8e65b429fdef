/* SPDX-License-Identifier: BSD-2-Clause */
/* Classes and actions of kernel events: docs/format.md, section 11. */
#include "format/event/kernel_class.h"

#include "common/bytes.h"

#define OPCODES 65 /* exclusive limit for opcodes in the table */

static const struct {
	const struct ptl_guid *provider;
	enum format_class class;
} classes[] = {
	{&PTL_PROVIDER_PROCESS, FORMAT_CLASS_PROCESS}, {&PTL_PROVIDER_THREAD, FORMAT_CLASS_THREAD},
	{&PTL_PROVIDER_IMAGE, FORMAT_CLASS_IMAGE},     {&PTL_PROVIDER_CODE, FORMAT_CLASS_CODE},
	{&PTL_PROVIDER_SIGNAL, FORMAT_CLASS_SIGNAL},
};

/* Action by class and opcode; FORMAT_ACTION_OTHER is 0. */
static const uint8_t actions[][OPCODES] = {
	[FORMAT_CLASS_PROCESS] =
		{
			[PTL_OPCODE_START] = FORMAT_ACTION_BEGIN,
			[PTL_OPCODE_START_RUNDOWN] = FORMAT_ACTION_START_RUNDOWN,
			[PTL_OPCODE_END_RUNDOWN] = FORMAT_ACTION_END_RUNDOWN,
			[PTL_OPCODE_END] = FORMAT_ACTION_END,
			[PTL_OPCODE_EXEC] = FORMAT_ACTION_EXEC,
		},
	[FORMAT_CLASS_THREAD] =
		{
			[PTL_OPCODE_START] = FORMAT_ACTION_BEGIN,
			[PTL_OPCODE_START_RUNDOWN] = FORMAT_ACTION_START_RUNDOWN,
			[PTL_OPCODE_END_RUNDOWN] = FORMAT_ACTION_END_RUNDOWN,
			[PTL_OPCODE_END] = FORMAT_ACTION_END,
		},
	[FORMAT_CLASS_SWITCH] = {[PTL_OPCODE_CONTEXT_SWITCH] = FORMAT_ACTION_SWITCH},
	[FORMAT_CLASS_IMAGE] =
		{
			[PTL_OPCODE_LOAD] = FORMAT_ACTION_BEGIN,
			[PTL_OPCODE_START_RUNDOWN] = FORMAT_ACTION_START_RUNDOWN,
			[PTL_OPCODE_END_RUNDOWN] = FORMAT_ACTION_END_RUNDOWN,
			[PTL_OPCODE_UNLOAD] = FORMAT_ACTION_END,
			[PTL_OPCODE_PROTECT] = FORMAT_ACTION_PROTECT,
		},
	[FORMAT_CLASS_CODE] = {0},
	[FORMAT_CLASS_SIGNAL] = {[PTL_OPCODE_FATAL] = FORMAT_ACTION_SIGNAL},
};

enum format_class format_class_of(const struct ptl_descriptor *descriptor)
{
	const uint8_t *bytes = descriptor->provider.bytes;
	const uint64_t first = common_load64(bytes), last = common_load64(bytes + 8);

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		const uint8_t *known = classes[i].provider->bytes;

		if (first != common_load64(known) || last != common_load64(known + 8))
			continue;
		if (classes[i].class == FORMAT_CLASS_THREAD && descriptor->opcode == PTL_OPCODE_CONTEXT_SWITCH)
			return FORMAT_CLASS_SWITCH;
		return classes[i].class;
	}
	return FORMAT_CLASS_NONE;
}

enum format_action format_action_of(enum format_class class, uint8_t opcode)
{
	/* The provider has a single event, independent of the opcode. */
	if (class == FORMAT_CLASS_CODE)
		return FORMAT_ACTION_CODE;
	return opcode < OPCODES ? actions[class][opcode] : FORMAT_ACTION_OTHER;
}

static int decode_kernel_event(const struct ptl_event *event, struct ptl_bytes *storage,
			       struct format_kernel_event *decoded)
{
	switch (decoded->class) {
	case FORMAT_CLASS_PROCESS:
		return ptl_process_decode(event, storage, &decoded->process);
	case FORMAT_CLASS_THREAD:
		return ptl_thread_decode(event, storage, &decoded->thread);
	case FORMAT_CLASS_SWITCH:
		return ptl_switch_decode(event, &decoded->switched);
	case FORMAT_CLASS_IMAGE:
		return ptl_image_decode(event, storage, &decoded->image);
	case FORMAT_CLASS_CODE:
		return ptl_code_decode(event, &decoded->code);
	case FORMAT_CLASS_SIGNAL:
		return ptl_signal_decode(event, &decoded->signal);
	default:
		return PTL_NOT_OURS;
	}
}

int format_kernel_decode(const struct ptl_event *event, struct ptl_bytes *storage, struct format_kernel_event *decoded)
{
	int status;

	/*
	 * Sets single members instead of the whole structure, to be fast for events of other providers, which are the
	 * most frequent.
	 */
	decoded->class = format_class_of(&event->descriptor);
	decoded->action = format_action_of(decoded->class, event->descriptor.opcode);
	decoded->pid = decoded->tid = PTL_NO_ID;
	if (decoded->class == FORMAT_CLASS_NONE)
		return PTL_NOT_OURS;
	status = decode_kernel_event(event, storage, decoded);
	if (status)
		return status;
	if (decoded->class == FORMAT_CLASS_PROCESS)
		decoded->pid = decoded->process.process_id;
	else if (decoded->class == FORMAT_CLASS_IMAGE)
		decoded->pid = decoded->image.process_id;
	else if (decoded->class == FORMAT_CLASS_CODE)
		decoded->pid = decoded->code.process_id;
	else if (decoded->class == FORMAT_CLASS_SIGNAL)
		decoded->pid = decoded->signal.process_id;
	if (decoded->class != FORMAT_CLASS_THREAD)
		return 0;
	decoded->pid = decoded->thread.process_id;
	decoded->tid = decoded->thread.thread_id;
	return 0;
}
