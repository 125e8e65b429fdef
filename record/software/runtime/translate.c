/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translates blocks. A block is straight code up to the first jump, call, return or system call. A taken conditional
 * branch leaves the block. A check before the block's first bit enters the runtime if TNT bits must be written. R15
 * holds these bits: instructions that name R15 use another register, whose value is saved in a scratch word.
 */
#include "record/software/runtime/translate_state.h"

#define PLACES_MAX 8u /* largest number of plans with a place at one instruction */
/* maximal number of 8-byte words of a block */
#define CHECKED_WORDS (TRANSLATE_INSTRUCTIONS_MAX * INSTRUCTION_MAX / 8 + 1)

/* ---- exits ---- */

void runtime_translate_count_spilled(struct translation *t, unsigned instructions)
{
	if (!t->block->options.counted)
		return;
	emit_load(&t->e, RCX, RUNTIME_SLOT_INSTRUCTIONS);
	emit_bytes(&t->e, (const uint8_t[]){0x48, 0x8d, 0x89}, 3); /* lea rcx, [rcx + instructions] */
	emit_4(&t->e, instructions);
	emit_store(&t->e, RUNTIME_SLOT_INSTRUCTIONS, RCX);
}

void runtime_translate_count(struct translation *t, unsigned instructions, uint32_t scratch)
{
	if (!t->block->options.counted || !instructions)
		return;
	emit_store(&t->e, scratch, RCX);
	runtime_translate_count_spilled(t, instructions);
	emit_load(&t->e, RCX, scratch);
}

static void add_stub(struct translation *t, const struct translate_exit *exit)
{
	t->stubs[t->stub_count].site = exit->site;
	t->stubs[t->stub_count].return_site = exit->return_site;
	t->stubs[t->stub_count].exit = t->block->add_exit(exit);
	t->stub_count++;
}

uint32_t runtime_translate_return_site(struct translation *t, uint64_t target)
{
	struct translate_return_site *site = t->block->add_return_site();

	if (!site)
		return 0;
	*site = (struct translate_return_site){.inverted = ~target};
	add_stub(t, &(struct translate_exit){.pc = target, .return_site = site});
	return (uint32_t)((const uint8_t *)site - t->block->return_sites);
}

void runtime_translate_entry(uint8_t *at)
{
	struct emitter e = {at};

	emit_load(&e, R10, RUNTIME_SCRATCH + 8);
}

unsigned runtime_translate_edge(uint8_t *at, unsigned zeros)
{
	struct emitter e = {at};

	emit_append_bits(&e, zeros, 1);
	return (unsigned)(e.at - at);
}

/* Writes the jump of an exit. The jump enters the runtime until the exit is linked. */
static void emit_exit_jump(struct translation *t, struct translate_exit exit)
{
	emit_align_displacement(&t->e, 1);
	emit_1(&t->e, 0xe9);
	exit.site = t->e.at;
	add_stub(t, &exit);
	emit_4(&t->e, 0);
}

void runtime_translate_exit(struct translation *t, uint64_t target, unsigned zeros, int last, unsigned instructions)
{
	emit_append_bits(&t->e, zeros, last);
	runtime_translate_count(t, instructions, RUNTIME_SCRATCH);
	emit_exit_jump(t, (struct translate_exit){.pc = target});
}

static uint32_t find_loop(const struct translation *t, uint64_t target)
{
	return t->block->find_loop ? t->block->find_loop(t->block->pc, target) : TRANSLATE_NO_PLAN;
}

void runtime_translate_branch(struct translation *t, uint64_t target, unsigned zeros, int last, unsigned instructions)
{
	const uint32_t plan = find_loop(t, target);

	if (plan != TRANSLATE_NO_PLAN)
		emit_store_64(&t->e, RUNTIME_ENTERED, plan + 1);
	runtime_translate_exit(t, target, zeros, last, instructions);
}

/* Writes the taken edge of a conditional branch. */
static void emit_side(struct translation *t, const struct side_exit *side)
{
	emit_displacement(side->site, t->e.at);
	if (t->block->options.counted || find_loop(t, side->target) != TRANSLATE_NO_PLAN) {
		runtime_translate_branch(t, side->target, side->zeros, 1, side->instructions);
		return;
	}
	t->e.at += runtime_translate_edge(t->e.at, side->zeros);
	emit_exit_jump(
		t, (struct translate_exit){.pc = side->target, .branch = side->site, .zeros = (uint8_t)side->zeros});
}

void runtime_translate_pc(struct translation *t, uint64_t pc)
{
	emit_store_64(&t->e, RUNTIME_PC, pc);
}

/* Writes an exit that leaves the instruction at pc, or the system call before pc, to the runtime. */
void runtime_translate_to_runtime(struct translation *t, uint32_t entry, uint64_t pc, unsigned instructions)
{
	emit_append_bits(&t->e, t->bits, -1);
	runtime_translate_count(t, instructions, RUNTIME_SCRATCH);
	runtime_translate_pc(t, pc);
	emit_jump_gs(&t->e, entry);
}

/* ---- the check ---- */

/* lahf; seto al: saves the flags in AX. */
static void emit_save_flags(struct translation *t)
{
	emit_store(&t->e, RUNTIME_SCRATCH, RAX);
	emit_bytes(&t->e, (const uint8_t[]){0x9f, 0x0f, 0x90, 0xc0}, 4);
}

/* add al, 127; sahf */
static void emit_restore_flags(struct translation *t)
{
	emit_bytes(&t->e, (const uint8_t[]){0x04, 0x7f, 0x9e}, 3);
	emit_load(&t->e, RAX, RUNTIME_SCRATCH);
}

void runtime_translate_check(struct translation *t, uint64_t pc)
{
	const bool live = t->check.live_flags;

	t->check_at = t->e.at;
	t->check_pc = pc;
	if (live)
		emit_save_flags(t);
	emit_gs(&t->e, 0x3b, R15, RUNTIME_LIMIT); /* cmp r15, limit */
	emit_bytes(&t->e, (const uint8_t[]){0x0f, 0x83}, 2);
	t->check_site = t->e.at;
	emit_4(&t->e, 0);
	if (live)
		emit_restore_flags(t);
}

/* Enters the runtime at pc. The thread may then go on at `resume`. */
static void emit_check_stub(struct translation *t, uint64_t pc, const uint8_t *resume)
{
	runtime_translate_pc(t, pc);
	emit_store(&t->e, RUNTIME_SCRATCH, RAX);
	/* lea rax, [rip + resume] */
	emit_bytes(&t->e, (const uint8_t[]){0x48, 0x8d, 0x05}, 3);
	emit_4(&t->e, (uint32_t)((int64_t)resume - (int64_t)(t->e.at + 4)));
	emit_jump_gs(&t->e, RUNTIME_TO_CHECK);
}

static void emit_check_stubs(struct translation *t)
{
	/* The head of a forgotten block becomes a jump to this stub. */
	t->block->check = t->e.at;
	emit_check_stub(t, t->block->pc, t->block->code);
	if (!t->check_site)
		return;
	if (t->check_at == t->block->code && !t->check.live_flags) {
		emit_displacement(t->check_site, t->block->check);
		return;
	}
	emit_displacement(t->check_site, t->e.at);
	if (t->check.live_flags)
		emit_restore_flags(t);
	emit_check_stub(t, t->check_pc, t->check_at);
}

/*
 * Writes the first instruction. A jump can replace the instruction in one write: the block is aligned, and the
 * instruction has at least five bytes.
 */
static void emit_head(struct translation *t)
{
	if (t->check.kind == CHECK_BEFORE && t->check.step == 0)
		runtime_translate_check(t, t->block->pc);
	else
		emit_bytes(&t->e, (const uint8_t[]){0x0f, 0x1f, 0x44, 0x00, 0x00}, 5); /* nop */
}

/* Writes a check whether popf at pc would set TF: the kernel's traps would then show translated code. */
static void emit_trap_check(struct translation *t, uint64_t pc, unsigned instructions)
{
	uint8_t *site;

	emit_bytes(&t->e, (const uint8_t[]){0xf6, 0x44, 0x24, 0x01, 0x01, 0x74, 0x00},
		   7); /* test byte [rsp + 1], 1; jz */
	site = t->e.at;
	runtime_translate_to_runtime(t, RUNTIME_TO_OTHER, pc, instructions);
	site[-1] = (uint8_t)(t->e.at - site);
}

/* ---- the block ---- */

/* Translates one instruction. Returns whether the instruction ends the block. */
static bool emit_instruction(struct translation *t, const uint8_t *source, const struct instruction *in, uint64_t pc,
			     struct translate_step *step, unsigned instructions)
{
	const uint64_t next = pc + in->length;

	switch ((enum instruction_kind)in->kind) {
	case INSTRUCTION_PLAIN:
		if (in->map == 0 && in->opcode == INSTRUCTION_POPF)
			emit_trap_check(t, pc, instructions - 1);
		runtime_translate_plain(t, source, in, pc, step);
		return false;
	case INSTRUCTION_CONDITION:
		runtime_translate_condition(t, in, next, instructions);
		return false;
	case INSTRUCTION_LOOP:
		runtime_translate_loop(t, in, next, instructions);
		return false;
	case INSTRUCTION_JUMP:
		runtime_translate_branch(t, next + (uint64_t)in->target, t->bits, -1, instructions);
		return true;
	case INSTRUCTION_CALL:
	case INSTRUCTION_CALL_INDIRECT:
		runtime_translate_call(t, source, in, pc, step, instructions);
		return true;
	case INSTRUCTION_JUMP_INDIRECT:
		runtime_translate_jump_indirect(t, source, in, pc, step, instructions);
		return true;
	case INSTRUCTION_RETURN:
		runtime_translate_return(t, source, in, step, instructions);
		return true;
	case INSTRUCTION_SYSCALL:
		runtime_translate_to_runtime(t, RUNTIME_TO_SYSCALL, next, instructions);
		return true;
	case INSTRUCTION_GS_BASE:
	case INSTRUCTION_FAR:
	case INSTRUCTION_XBEGIN:
	case INSTRUCTION_INT80:
		runtime_translate_to_runtime(t, RUNTIME_TO_OTHER, pc, instructions - 1);
		return true;
	case INSTRUCTION_TRAP:
	case INSTRUCTION_UNDEFINED:
		/* The copy faults like the original. */
		emit_bytes(&t->e, source, in->length);
		emit_bytes(&t->e, (const uint8_t[]){0x0f, 0x0b}, 2);
		return true;
	}
	return true;
}

static void finish(struct translation *t)
{
	t->block->code_size = (uint32_t)(t->e.at - t->block->code);
	/* Taken edges and stubs go into the cold part, which keeps the hot code dense. */
	t->e.at = t->block->cold;
	for (unsigned i = 0; i < t->side_count; i++)
		emit_side(t, &t->sides[i]);
	emit_check_stubs(t);
	for (unsigned i = 0; i < t->stub_count; i++) {
		if (t->stubs[i].site) {
			emit_displacement(t->stubs[i].site, t->e.at);
		} else {
			t->stubs[i].return_site->code = (uint64_t)t->e.at;
			runtime_translate_entry(t->e.at);
			t->e.at += TRANSLATE_ENTRY_SIZE;
		}
		emit_store_32(&t->e, RUNTIME_EXIT, t->stubs[i].exit);
		emit_jump_gs(&t->e, RUNTIME_TO_LINK);
	}
	if (t->return_address) {
		/* Aligned, as the program may require aligned accesses. */
		while ((uintptr_t)t->e.at % 8)
			emit_1(&t->e, 0xcc);
		emit_displacement(t->return_address, t->e.at);
		emit_8(&t->e, t->return_to);
	}
	t->block->cold_size = (uint32_t)(t->e.at - t->block->cold);
}

/*
 * Writes a check that the bytes at [pc, pc + length) are still the translated bytes; if not, the check enters the
 * runtime.
 */
static void emit_byte_check(struct translation *t, unsigned length)
{
	const struct translate_block *block = t->block;
	uint8_t *jumps[CHECKED_WORDS];
	unsigned count = 0;

	emit_store(&t->e, RUNTIME_SCRATCH, RAX);
	emit_bytes(&t->e, (const uint8_t[]){0x9f, 0x0f, 0x90, 0xc0}, 4);
	emit_store(&t->e, RUNTIME_SCRATCH + 8, RCX);
	emit_store(&t->e, RUNTIME_SCRATCH + 16, RDX);
	for (unsigned at = 0; at < length && count < CHECKED_WORDS; at += 8) {
		const unsigned from = at + 8 <= length || length < 8 ? at : length - 8;
		uint64_t word = 0;

		emit_constant(&t->e, RDX, block->pc + from);
		if (length < 8) {
			/* Compares byte by byte, as memory behind the block may be unreadable. */
			for (unsigned i = 0; i < length; i++) {
				/* cmp byte [rdx + i], value */
				emit_bytes(&t->e, (const uint8_t[]){0x80, 0x7a, (uint8_t)i, block->bytes[i]}, 4);
				emit_bytes(&t->e, (const uint8_t[]){0x0f, 0x85}, 2);
				jumps[count++] = t->e.at;
				emit_4(&t->e, 0);
			}
			break;
		}
		memcpy(&word, block->bytes + from, 8);
		emit_1(&t->e, 0x48);
		emit_1(&t->e, 0xb9);
		emit_8(&t->e, word);
		emit_bytes(&t->e, (const uint8_t[]){0x48, 0x3b, 0x0a, 0x0f, 0x85}, 5); /* cmp rcx, [rdx]; jne */
		jumps[count++] = t->e.at;
		emit_4(&t->e, 0);
	}
	emit_load(&t->e, RDX, RUNTIME_SCRATCH + 16);
	emit_load(&t->e, RCX, RUNTIME_SCRATCH + 8);
	emit_bytes(&t->e, (const uint8_t[]){0x04, 0x7f, 0x9e}, 3);
	emit_load(&t->e, RAX, RUNTIME_SCRATCH);
	{
		uint8_t *over;

		emit_1(&t->e, 0xe9);
		over = t->e.at;
		emit_4(&t->e, 0);
		for (unsigned i = 0; i < count; i++)
			emit_displacement(jumps[i], t->e.at);
		emit_load(&t->e, RDX, RUNTIME_SCRATCH + 16);
		emit_load(&t->e, RCX, RUNTIME_SCRATCH + 8);
		emit_bytes(&t->e, (const uint8_t[]){0x04, 0x7f, 0x9e}, 3);
		emit_load(&t->e, RAX, RUNTIME_SCRATCH);
		/* The runtime translates the block again; see RUNTIME_REASON_OTHER. */
		runtime_translate_pc(t, block->pc);
		emit_jump_gs(&t->e, RUNTIME_TO_OTHER);
		emit_displacement(over, t->e.at);
	}
}

static bool has_place(const struct translate_block *block, uint64_t pc, const struct instruction *in)
{
	struct translate_place place;

	return block->find_place && block->find_place(pc, in, 0, &place) != TRANSLATE_NO_PLAN;
}

/* Writes the way to the runtime at a place of --values, and back. */
static void emit_take(struct translation *t, uint32_t plan, const struct instruction *in,
		      const struct translate_place *place)
{
	const bool may_leave = in->kind == INSTRUCTION_CONDITION || in->kind == INSTRUCTION_JUMP_INDIRECT;
	const uint32_t flags = (in->kind == INSTRUCTION_PLAIN ? 0 : RUNTIME_VALUES_BRANCH) |
			       (in->kind == INSTRUCTION_JUMP ? RUNTIME_VALUES_TAIL_CALL : 0) |
			       (may_leave ? RUNTIME_VALUES_MAY_LEAVE : 0);
	uint8_t *site;

	emit_store_32(&t->e, RUNTIME_EXIT, plan | flags);
	if (may_leave)
		emit_store_64(&t->e, RUNTIME_SCRATCH + 8, place->offset);
	runtime_translate_pc(t, t->block->pc);
	emit_store(&t->e, RUNTIME_SCRATCH, RAX);
	/* lea rax, [rip + behind] */
	emit_bytes(&t->e, (const uint8_t[]){0x48, 0x8d, 0x05}, 3);
	site = t->e.at;
	emit_4(&t->e, 0);
	emit_jump_gs(&t->e, RUNTIME_TO_VALUES);
	emit_displacement(site, t->e.at);
}

/* Writes the work at the block's first instruction, for at most PLACES_MAX plans. */
static void emit_places(struct translation *t)
{
	const struct translate_block *block = t->block;
	const struct instruction *in = &t->decoded[0];
	struct translate_place place;
	uint32_t plan = 0;

	for (unsigned i = 0; block->find_place && i < PLACES_MAX; i++, plan++) {
		plan = block->find_place(block->pc, in, plan, &place);
		if (plan == TRANSLATE_NO_PLAN)
			return;
		if (place.enters)
			emit_store_64(&t->e, RUNTIME_ENTERED, plan + 1);
		else
			emit_take(t, plan, in, &place);
	}
}

/* Decodes the block's instructions. Returns the block's length in bytes. */
static unsigned decode_block(struct translation *t)
{
	const struct translate_block *block = t->block;
	unsigned offset = 0, bits = 0;

	while (t->decoded_count < TRANSLATE_INSTRUCTIONS_MAX && bits < TRANSLATE_BITS_MAX - 1) {
		struct instruction *in = &t->decoded[t->decoded_count];

		if (!runtime_instruction_decode(block->bytes + offset, block->size - offset, in))
			break;
		/* A place is at the beginning of a block. */
		if (offset && has_place(block, block->pc + offset, in))
			break;
		t->decoded_count++;
		offset += in->length;
		if (in->kind == INSTRUCTION_CONDITION || in->kind == INSTRUCTION_LOOP)
			bits++;
		else if (in->kind != INSTRUCTION_PLAIN)
			break;
		if (block->options.single_store && in->writes_memory)
			break;
	}
	return offset;
}

void runtime_translate_block(struct translate_block *block)
{
	struct translation t;
	unsigned length, offset = 0;
	bool ended = false;

	t.block = block;
	t.e.at = block->code;
	t.decoded_count = t.bits = t.side_count = t.stub_count = 0;
	length = decode_block(&t);
	block->step_count = 0;
	block->stub_length = 0;
	block->cut = length == 0;
	block->length = length;
	if (block->cut)
		return;
	t.check = runtime_translate_place_check(&t);
	t.check_site = NULL;
	t.return_address = NULL;
	emit_head(&t);
	if (block->options.check_bytes)
		emit_byte_check(&t, length);
	emit_places(&t);
	while (block->step_count < t.decoded_count) {
		const struct instruction *in = &t.decoded[block->step_count];

		if (t.check.kind == CHECK_BEFORE && t.check.step == block->step_count && block->step_count)
			runtime_translate_check(&t, block->pc + offset);

		struct translate_step *step = &block->steps[block->step_count++];

		*step = (struct translate_step){
			.code = (uint16_t)(t.e.at - block->code),
			.offset_low = (uint8_t)offset,
			.offset_high = (uint8_t)(offset >> 8),
			.scratch = NO_REGISTER,
			.bits = (uint8_t)t.bits,
			.length = in->length,
		};
		ended = emit_instruction(&t, block->bytes + offset, in, block->pc + offset, step, block->step_count);
		offset += in->length;
	}
	if (!ended)
		runtime_translate_exit(&t, block->pc + length, t.bits, -1, block->step_count);
	finish(&t);
}
