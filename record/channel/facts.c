/* SPDX-License-Identifier: BSD-2-Clause */
/* Translates messages into facts. A program's strings arrive in pieces, and become one fact when complete. */
#include "record/channel/facts.h"

#include <stdlib.h>
#include <string.h>

#include "common/bytes.h"
#include "common/error.h"

#define EXEC_BYTES_MAX (8u << 20) /* above Linux's limit for arguments */

/* A program in execution, until all of its strings have arrived. */
struct program {
	struct record_fact fact;
	uint32_t total;
	struct ptl_bytes bytes;
};

static void free_program(struct program *program)
{
	common_bytes_free(&program->bytes);
	free(program);
}

void record_channel_facts_free(struct record_channel_facts *facts)
{
	uint64_t number, value;
	size_t at = 0;

	while (common_hash_map_next(&facts->programs, &at, &number, &value))
		free_program((struct program *)(uintptr_t)value);
	common_hash_map_free(&facts->programs);
}

/* ---- programs -------------------------------------------------------------------------------- */

static struct program *find_program(const struct record_channel_facts *facts, uint32_t process)
{
	const uint64_t *value = facts->programs.used ? common_hash_map_get(&facts->programs, process) : NULL;

	return value ? (struct program *)(uintptr_t)*value : NULL;
}

/* Reports the program with the strings so far. */
static int complete_program(struct record_channel_facts *facts, struct program *program, uint64_t now)
{
	int status;

	common_hash_map_remove(&facts->programs, program->fact.process);
	program->fact.exec.program = (struct record_program){program->bytes.data, program->bytes.size};
	status = record_model_fact(facts->model, &program->fact, now);
	free_program(program);
	return status;
}

int record_channel_facts_end(struct record_channel_facts *facts, uint32_t process, uint64_t now)
{
	struct program *program = find_program(facts, process);

	return program ? complete_program(facts, program, now) : 0;
}

int record_channel_facts_end_all(struct record_channel_facts *facts, uint64_t now)
{
	uint64_t number, value;
	size_t at = 0;
	int status = 0;

	while (status == 0 && common_hash_map_next(&facts->programs, &at, &number, &value)) {
		status = complete_program(facts, (struct program *)(uintptr_t)value, now);
		/* A removal may move other entries. */
		at = 0;
	}
	return status;
}

static struct record_fact fact_of(const struct channel_message *message, enum record_fact_kind kind)
{
	return (struct record_fact){
		.kind = kind,
		.process = message->process,
		.pid = message->pid,
		.tid = message->tid,
		.time = message->time,
		.rundown = (message->flags & CHANNEL_MESSAGE_RUNDOWN) != 0,
	};
}

static int program_begins(struct record_channel_facts *facts, const struct channel_message_exec *message, uint64_t now)
{
	struct program *program;
	int status = record_channel_facts_end(facts, message->header.process, now);

	if (status < 0)
		return status;
	program = calloc(1, sizeof(*program));
	if (!program)
		return common_fail_memory("command line", sizeof(*program));
	program->fact = fact_of(&message->header, RECORD_FACT_EXEC);
	program->fact.epoch = message->epoch;
	program->fact.exec.start_address = message->start_address;
	program->total = message->total > EXEC_BYTES_MAX ? EXEC_BYTES_MAX : message->total;
	status = common_hash_map_put(&facts->programs, message->header.process, (uint64_t)(uintptr_t)program);
	if (status < 0)
		free_program(program);
	return status;
}

static int program_goes_on(struct record_channel_facts *facts, const struct channel_message_exec_bytes *message,
			   uint64_t now)
{
	struct program *program = find_program(facts, message->header.process);

	/* Pieces arrive in order. A piece out of order is dropped, with all later pieces. */
	if (!program || message->offset != program->bytes.size ||
	    message->length > program->total - program->bytes.size)
		return 0;
	common_write_bytes(&program->bytes, message + 1, message->length);
	if (program->bytes.failed)
		return common_fail_memory("command line", program->total);
	return program->bytes.size == program->total ? complete_program(facts, program, now) : 0;
}

/* ---- other messages -------------------------------------------------------------------------- */

static void process_start(const struct channel_message_process_start *message, struct record_fact *fact)
{
	fact->kind = RECORD_FACT_PROCESS_START;
	fact->epoch = message->epoch;
	fact->start.forked = message->how != CHANNEL_PROCESS_INITIAL;
	fact->start.parent_pid = message->parent_pid;
	fact->start.parent_process = message->parent_process;
	fact->start.parent_epoch = message->parent_epoch;
}

static void thread_name(const struct channel_message_thread_name *message, struct record_fact *fact)
{
	const size_t length = message->length < RECORD_THREAD_NAME_MAX ? message->length : RECORD_THREAD_NAME_MAX;

	fact->kind = RECORD_FACT_THREAD_NAME;
	fact->tid = message->named_tid;
	memcpy(fact->name, message + 1, length);
	fact->name[length] = 0;
}

static void code(const struct channel_message_code *message, struct record_fact *fact)
{
	fact->kind = RECORD_FACT_CODE;
	fact->epoch = message->epoch;
	fact->range.base = message->base;
	fact->range.size = message->length;
	fact->range.code = (const uint8_t *)(message + 1);
}

static void unmap(const struct channel_message_unmap *message, struct record_fact *fact)
{
	fact->kind = RECORD_FACT_IMAGE_UNMAP;
	fact->epoch = message->epoch;
	fact->range.base = message->base;
	fact->range.size = message->size;
}

static void protect(const struct channel_message_protect *message, struct record_fact *fact)
{
	fact->kind = RECORD_FACT_IMAGE_PROTECT;
	fact->epoch = message->epoch;
	fact->range.base = message->base;
	fact->range.size = message->size;
	fact->range.protection = message->protection;
}

static void not_followed(const struct channel_message_not_followed *message, struct record_fact *fact)
{
	static const char *const causes[] = {
		[CHANNEL_NOT_FOLLOWED_FORMAT] = "it is no x86-64 program",
		[CHANNEL_NOT_FOLLOWED_ARENA] =
			"it may not open the recorder's memory (another user, or /proc mounted again)",
		[CHANNEL_NOT_FOLLOWED_UNREADABLE] = "it may be executed but not read",
		[CHANNEL_NOT_FOLLOWED_PRIVILEGES] =
			"it has privileges of its own (set-user-ID, set-group-ID or capabilities), and keeps them",
		[CHANNEL_NOT_FOLLOWED_TRACER] =
			"it cannot be traced (a debugger has it, its user may not read it, or it has unshared the pid "
			"namespace of its children)",
		[CHANNEL_NOT_FOLLOWED_MEMORY] =
			"it cannot map the recorder's runtime (a policy forbids new code, or memory is scarce)",
	};
	const char *cause = message->cause < sizeof(causes) / sizeof(causes[0]) ? causes[message->cause] : NULL;

	fact->kind = RECORD_FACT_LEAVE;
	fact->leave.cause = cause ? cause : "unknown cause";
	fact->leave.program = (struct record_program){message + 1, message->length};
}

static void status_of(const struct channel_message *message, struct record_fact *fact)
{
	const struct channel_message_child_status *child = (const void *)message;
	const struct channel_message_exit *exits = (const void *)message;

	if (message->type == CHANNEL_MSG_EXIT) {
		fact->kind = RECORD_FACT_EXIT;
		fact->exit.wait_status = exits->status;
	} else {
		fact->kind = RECORD_FACT_CHILD_STATUS;
		fact->exit.pid = child->child_pid;
		fact->exit.process = child->child_process;
		fact->exit.wait_status = child->status;
	}
}

static void signal_of(const struct channel_message_signal *message, struct record_fact *fact)
{
	fact->kind = RECORD_FACT_SIGNAL;
	fact->signal = (struct ptl_signal_event){
		.signal = message->signal,
		.code = message->code,
		.sender_id = message->sender,
		.has_address = message->has_address != 0,
		.address = message->address,
	};
}

/* Fills in the fact's kind and members. Messages without a fact of their own report a living process. */
static void translate(const struct channel_message *message, const struct ptl_image_event *image,
		      struct record_fact *fact)
{
	switch (message->type) {
	case CHANNEL_MSG_PROCESS_START:
		process_start((const void *)message, fact);
		break;
	case CHANNEL_MSG_EXIT:
	case CHANNEL_MSG_CHILD_STATUS:
		status_of(message, fact);
		break;
	case CHANNEL_MSG_SIGNAL:
		signal_of((const void *)message, fact);
		break;
	case CHANNEL_MSG_THREAD_START:
		fact->kind = RECORD_FACT_THREAD_START;
		fact->parent_tid = ((const struct channel_message_thread_start *)(const void *)message)->parent_tid;
		break;
	case CHANNEL_MSG_THREAD_END:
		fact->kind = RECORD_FACT_THREAD_END;
		break;
	case CHANNEL_MSG_THREAD_NAME:
		thread_name((const void *)message, fact);
		break;
	case CHANNEL_MSG_IMAGE_MAP:
		fact->kind = RECORD_FACT_IMAGE_MAP;
		fact->epoch = ((const struct channel_message_image *)(const void *)message)->epoch;
		fact->image = image;
		break;
	case CHANNEL_MSG_IMAGE_UNMAP:
		unmap((const void *)message, fact);
		break;
	case CHANNEL_MSG_IMAGE_PROTECT:
		protect((const void *)message, fact);
		break;
	case CHANNEL_MSG_CODE:
		code((const void *)message, fact);
		break;
	case CHANNEL_MSG_NOT_FOLLOWED:
		not_followed((const void *)message, fact);
		break;
	case CHANNEL_MSG_EXEC_FAILED:
		fact->kind = RECORD_FACT_STAY;
		break;
	default:
		break;
	}
}

int record_channel_fact(struct record_channel_facts *facts, const struct channel_message *message,
			const struct ptl_image_event *image, uint64_t now)
{
	struct record_fact fact = fact_of(message, RECORD_FACT_ALIVE);
	int status = 0;

	if (message->type == CHANNEL_MSG_EXEC)
		return program_begins(facts, (const void *)message, now);
	if (message->type == CHANNEL_MSG_EXEC_BYTES)
		return program_goes_on(facts, (const void *)message, now);
	/* A message before the last string also follows the program's start: reports the program first. */
	if (message->type != CHANNEL_MSG_PSB)
		status = record_channel_facts_end(facts, message->process, now);
	translate(message, image, &fact);
	return status < 0 ? status : record_model_fact(facts->model, &fact, now);
}
