/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of arguments, members and results at functions of --values: reads what the recorder's plans say. */
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "record/software/runtime/instruction.h"
#include "record/software/runtime/runtime.h"
#include "record/software/runtime/translate.h"

#define PAYLOAD_MAX 4096u /* bytes of a message's values; fields without room are missing */
#define FAULTS ((1ull << (SIGSEGV - 1)) | (1ull << (SIGBUS - 1)))
#define VECTORS 16u

struct reading {
	const struct runtime_thread *thread;
	const struct channel_values *values;
	uint64_t image; /* memory of the byte at offset 0 of the function's file */
	uint8_t vectors[VECTORS][16];
	bool has_vectors;
	uint8_t payload[PAYLOAD_MAX];
	uint32_t size;
	uint64_t address; /* of the byte that cannot be read */
};

static const struct channel_values *values_of_arena(void)
{
	return (const struct channel_values *)(const void *)(runtime.arena + channel_values_offset(&runtime.config));
}

static uint32_t plan_count(void)
{
	const uint32_t count = runtime.config.values_size
				       ? __atomic_load_n(&values_of_arena()->plan_count, __ATOMIC_ACQUIRE)
				       : 0;

	return count < CHANNEL_VALUE_PLANS_MAX ? count : CHANNEL_VALUE_PLANS_MAX;
}

bool runtime_values_known(void)
{
	return plan_count() != 0;
}

/* ---- places ---- */

static bool is_inside(const struct channel_value_plan *plan, uint64_t offset)
{
	for (uint32_t i = 0; i < plan->range_count && i < CHANNEL_VALUE_RANGES_MAX; i++)
		if (offset >= plan->ranges[i][0] && offset < plan->ranges[i][1])
			return true;
	return false;
}

/* Returns whether the instruction at `offset` of the file leaves the function for good, or may leave. */
static bool leaves(const struct channel_value_plan *plan, uint64_t offset, const struct instruction *in)
{
	if (!is_inside(plan, offset))
		return false;
	switch ((enum instruction_kind)in->kind) {
	case INSTRUCTION_RETURN:
	case INSTRUCTION_JUMP_INDIRECT:
		return true;
	case INSTRUCTION_JUMP:
	case INSTRUCTION_CONDITION:
		return !is_inside(plan, offset + in->length + (uint64_t)in->target);
	default:
		return false;
	}
}

uint32_t runtime_values_place(uint64_t pc, const struct instruction *in, uint32_t from, struct translate_place *place)
{
	const struct channel_image *image = channel_space_find(&runtime.space, pc);
	const uint32_t count = plan_count();

	for (uint32_t i = from; image && i < count; i++) {
		const struct channel_value_plan *plan = &values_of_arena()->plans[i];
		const uint64_t offset = image->file_offset + (pc - image->base);

		if (plan->device != image->device || plan->inode != image->inode)
			continue;
		place->offset = offset;
		place->enters = plan->place == CHANNEL_VALUE_AT_BODY && offset == plan->entry;
		if (place->enters ||
		    (plan->place == CHANNEL_VALUE_AT_RETURN ? leaves(plan, offset, in) : offset == plan->offset))
			return i;
	}
	return TRANSLATE_NO_PLAN;
}

uint32_t runtime_values_loop(uint64_t pc, uint64_t target)
{
	const struct channel_image *image = channel_space_find(&runtime.space, pc);
	const uint32_t count = plan_count();

	for (uint32_t i = 0; image && i < count; i++) {
		const struct channel_value_plan *plan = &values_of_arena()->plans[i];
		const uint64_t image_start = image->base - image->file_offset;

		if (plan->place == CHANNEL_VALUE_AT_ENTRY && plan->device == image->device &&
		    plan->inode == image->inode && target - image_start == plan->offset &&
		    is_inside(plan, pc - image_start))
			return i;
	}
	return TRANSLATE_NO_PLAN;
}

/* ---- jumps to other functions ---- */

static bool is_taken(uint64_t flags, unsigned condition)
{
	const bool carry = flags & 1, parity = flags >> 2 & 1, zero = flags >> 6 & 1, sign = flags >> 7 & 1,
		   overflow = flags >> 11 & 1;
	const bool holds[] = {
		overflow, carry, zero, carry || zero, sign, parity, sign != overflow, zero || sign != overflow};

	return holds[condition >> 1 & 7] != (condition & 1);
}

/* Finds the target of an indirect jump. */
static bool find_target(const struct runtime_thread *thread, const uint8_t *bytes, const struct instruction *in,
			uint64_t *target)
{
	uint64_t address = 0;
	int32_t displacement = 0;

	if (in->modrm >> 6 == 3) {
		*target = thread->regs[in->rm];
		return true;
	}
	if (in->segment_fs || in->segment_gs || in->address_32)
		return false;
	if (in->displacement_size == 1)
		displacement = (int8_t)bytes[in->displacement_at];
	else if (in->displacement_size == 4)
		memcpy(&displacement, bytes + in->displacement_at, sizeof(displacement));
	if (in->rip_relative)
		address = thread->pc + in->length;
	else if (in->base < 16)
		address = thread->regs[in->base];
	if (in->index < 16)
		address += thread->regs[in->index] << (bytes[in->sib_at] >> 6);
	address += (uint64_t)(int64_t)displacement;
	return runtime_copy(target, (const void *)address, sizeof(*target));
}

/* Returns whether the jump at pc, whose offset in the file is in scratch 1, leads to another function. */
static bool jumps_away(const struct runtime_thread *thread, const struct channel_value_plan *plan)
{
	uint8_t bytes[INSTRUCTION_MAX] = {0};
	struct instruction in;
	unsigned size = INSTRUCTION_MAX;
	uint64_t target;

	while (size && !runtime_copy(bytes, (const void *)thread->pc, size))
		size--;
	if (!runtime_instruction_decode(bytes, size, &in))
		return false;
	if (in.kind == INSTRUCTION_CONDITION)
		return is_taken(thread->flags, in.opcode);
	return in.kind == INSTRUCTION_JUMP_INDIRECT && find_target(thread, bytes, &in, &target) &&
	       !is_inside(plan, target - thread->pc + thread->scratch[1]);
}

/* ---- reading ---- */

/* Returns the signals that this thread blocks, of those that an unreadable address causes. Such a signal would end the process. */
static uint64_t permit_faults(void)
{
	const uint64_t faults = FAULTS;
	uint64_t mask = 0;

	RUNTIME_CALL(SYS_rt_sigprocmask, SIG_BLOCK, 0, &mask, 8);
	if (mask & FAULTS)
		RUNTIME_CALL(SYS_rt_sigprocmask, SIG_UNBLOCK, &faults, 0, 8);
	return mask & FAULTS;
}

static bool read_memory(struct reading *reading, void *to, uint64_t address, size_t size)
{
	reading->address = address;
	return address + size > address && runtime_copy(to, (const void *)address, size);
}

static uint64_t vector_word(struct reading *reading, unsigned index, int64_t offset)
{
	uint64_t word;

	if (!reading->has_vectors)
		runtime_store_vectors(reading->vectors);
	reading->has_vectors = true;
	memcpy(&word, &reading->vectors[index % VECTORS][offset & 8], sizeof(word));
	return word;
}

static bool compute(struct reading *reading, uint32_t first, uint32_t count, uint64_t *result)
{
	uint64_t value = 0;

	for (uint32_t i = first; i - first < count && i < CHANNEL_VALUE_STEPS_MAX; i++) {
		const struct channel_value_step *step = &reading->values->steps[i];

		switch (step->op) {
		case CHANNEL_VALUE_REGISTER:
			value = reading->thread->regs[step->index % 16] + (uint64_t)step->operand;
			break;
		case CHANNEL_VALUE_XMM:
			value = vector_word(reading, step->index, step->operand);
			break;
		case CHANNEL_VALUE_CONSTANT:
			value = (uint64_t)step->operand;
			break;
		case CHANNEL_VALUE_IMAGE:
			value = reading->image + (uint64_t)step->operand;
			break;
		case CHANNEL_VALUE_ADD:
			value += (uint64_t)step->operand;
			break;
		case CHANNEL_VALUE_LOAD: {
			uint64_t word = 0;

			if (!read_memory(reading, &word, value, step->size <= 8 ? step->size : 8))
				return false;
			value = word;
			break;
		}
		case CHANNEL_VALUE_LEFT:
			value <<= step->operand & 63;
			break;
		case CHANNEL_VALUE_RIGHT:
			value >>= step->operand & 63;
			break;
		case CHANNEL_VALUE_SIGNED:
			value = (uint64_t)((int64_t)value >> (step->operand & 63));
			break;
		default:
			return false;
		}
	}
	*result = value;
	return true;
}

static void put(struct reading *reading, const void *bytes, uint32_t size)
{
	memcpy(reading->payload + reading->size, bytes, size);
	reading->size += size;
}

/* Returns the number of bytes before the first zero byte. */
static size_t length_of(const uint8_t *text, size_t size)
{
	size_t length = 0;

	while (length < size && text[length])
		length++;
	return length;
}

/* Puts a string of at most `most` bytes, which ends at a zero byte if `ends`. */
static bool put_string(struct reading *reading, uint64_t address, uint64_t most, bool ends)
{
	uint8_t *const text = reading->payload + reading->size + sizeof(uint16_t);
	const uint16_t limit = most < CHANNEL_VALUE_STRING_MAX ? (uint16_t)most : CHANNEL_VALUE_STRING_MAX;
	uint16_t length = 0;

	while (length < limit) {
		const uint64_t page = CHANNEL_PAGE - (address + length) % CHANNEL_PAGE;
		const uint16_t part = limit - length < (int)page ? (uint16_t)(limit - length) : (uint16_t)page;
		const uint8_t *end;

		if (!read_memory(reading, text + length, address + length, part)) {
			if (!length)
				return false;
			break;
		}
		end = text + length + (ends ? length_of(text + length, part) : part);
		length = (uint16_t)(length + part);
		if (end < text + length) {
			length = (uint16_t)(end - text);
			break;
		}
	}
	memcpy(reading->payload + reading->size, &length, sizeof(length));
	reading->size += (uint32_t)sizeof(length) + length;
	return true;
}

static bool put_field(struct reading *reading, const struct channel_value_field *field)
{
	uint64_t value, length = CHANNEL_VALUE_STRING_MAX;

	if (!compute(reading, field->first_step, field->step_count, &value) ||
	    (field->length_count &&
	     !compute(reading, field->first_step + field->step_count, field->length_count, &length)))
		return false;
	switch (field->kind) {
	case CHANNEL_VALUE_NUMBER:
		put(reading, &value, field->size <= 8 ? field->size : 8);
		return true;
	case CHANNEL_VALUE_COUNTED:
		return put_string(reading, value, length, false);
	case CHANNEL_VALUE_STRING:
		return put_string(reading, value, length, true);
	default:
		return false;
	}
}

/* Reads the fields of a plan. Returns a bit for each field that could not be read: its address stands in place of the value. */
static uint64_t read_fields(struct reading *reading, const struct channel_value_plan *plan)
{
	/* room for the remaining addresses is kept */
	const uint32_t room = PAYLOAD_MAX - 8 * CHANNEL_VALUE_PLAN_FIELDS_MAX - CHANNEL_VALUE_STRING_MAX - 2;
	uint64_t missing = 0;

	for (uint32_t i = 0; i < plan->field_count && i < CHANNEL_VALUE_PLAN_FIELDS_MAX; i++) {
		const struct channel_value_field *field =
			&reading->values->fields[(plan->first_field + i) % CHANNEL_VALUE_FIELDS_MAX];

		if (field->kind == CHANNEL_VALUE_NOTHING)
			continue;
		reading->address = CHANNEL_VALUE_NO_ROOM;
		if (reading->size < room && put_field(reading, field))
			continue;
		put(reading, &reading->address, sizeof(reading->address));
		missing |= 1ull << i;
	}
	return missing;
}

/* ---- taking ---- */

static void take_plan(struct runtime_thread *thread, uint32_t number, bool tail_call)
{
	const struct channel_value_plan *plan = &values_of_arena()->plans[number];
	/* The call begins with the function's first instruction: an event of the call lies behind this instruction. */
	const bool behind = !(thread->exit & RUNTIME_VALUES_BRANCH);
	struct channel_message_values message = {
		.header.type = CHANNEL_MSG_VALUES,
		.plan = number,
		.tail_call = tail_call,
	};
	struct reading reading;
	uint64_t faults;

	reading.thread = thread;
	reading.values = values_of_arena();
	reading.image = thread->pc - plan->offset;
	reading.has_vectors = false;
	reading.size = 0;
	if (!tail_call) {
		faults = plan->faults ? permit_faults() : 0;
		message.missing = read_fields(&reading, plan);
		if (faults)
			RUNTIME_CALL(SYS_rt_sigprocmask, SIG_BLOCK, &faults, 0, 8);
	}
	message.length = reading.size;
	message.header.time = runtime_stand(thread, behind ? &number : NULL);
	runtime_send(thread, &message.header, sizeof(message), reading.payload, reading.size);
}

void runtime_values_take(struct runtime_thread *thread)
{
	const uint32_t number = (uint32_t)thread->exit & RUNTIME_VALUES_PLAN;
	const struct channel_value_plan *plan;
	bool tail_call = false;

	if (number >= plan_count())
		return;
	plan = &values_of_arena()->plans[number];
	if (plan->place == CHANNEL_VALUE_AT_BODY) {
		/* A jump back to the place is no call. */
		if (thread->entered != number + 1)
			return;
		thread->entered = 0;
	} else if (plan->place == CHANNEL_VALUE_AT_ENTRY && thread->entered == number + 1) {
		thread->entered = 0;
		return;
	}
	if (plan->place == CHANNEL_VALUE_AT_RETURN) {
		tail_call = thread->exit & (RUNTIME_VALUES_TAIL_CALL | RUNTIME_VALUES_MAY_LEAVE);
		if (thread->exit & RUNTIME_VALUES_MAY_LEAVE && !jumps_away(thread, plan))
			return;
	}
	take_plan(thread, number, tail_call);
}
