/* SPDX-License-Identifier: BSD-2-Clause */
/* The plugin's packets: random programs are walked, and libipt must see the same walk. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <intel-pt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ptl/trace.h>

#include "record/qemu/plugin/encoder.h"
#include "record/qemu/channel.h"
#include "record/qemu/plugin/plugin.h"

#define BASE 0x10000000ull
#define CODE_SIZE 16384
#define BLOCKS 60
#define NOPS_MAX 5
#define STEPS 6000
#define RESTORER (BASE + CODE_SIZE - 16)

/* A block of the program, as it would be translated when entered at its start. */
struct piece {
	uint64_t start;
	uint64_t target;
	size_t count;
	uint8_t lengths[NOPS_MAX + 1];
	enum qemu_block_kind kind;
};

struct walk {
	struct qemu_channel channel;
	struct qemu_slot *slot;
	uint8_t code[CODE_SIZE];
	struct piece pieces[BLOCKS];
	struct piece restorer; /* mov, syscall */
	uint64_t *expected;    /* addresses of the instructions executed */
	size_t expected_count;
	uint8_t *stream;
	size_t stream_size;
	uint64_t calls[256];
	size_t depth;
	uint64_t state;   /* of the random numbers */
	uint64_t env[17]; /* QEMU's registers */
};

static uint64_t draw(struct walk *walk, uint64_t below)
{
	walk->state ^= walk->state << 13;
	walk->state ^= walk->state >> 7;
	walk->state ^= walk->state << 17;
	return walk->state % below;
}

/* ---- the program ---------------------------------------------------------------------------- */

static const struct {
	enum qemu_block_kind kind;
	uint8_t bytes[2];
	uint8_t opcode_size;
	uint8_t displacement;
} endings[] = {
	{QEMU_BLOCK_LINEAR, {0x90}, 1, 0},
	{QEMU_BLOCK_COND, {0x0f, 0x85}, 2, 4},
	{QEMU_BLOCK_COND, {0x0f, 0x84}, 2, 4},
	{QEMU_BLOCK_JUMP, {0xe9}, 1, 4},
	{QEMU_BLOCK_CALL, {0xe8}, 1, 4},
	{QEMU_BLOCK_CALL, {0xe8}, 1, 4},
	{QEMU_BLOCK_RETURN, {0xc3}, 1, 0},
	{QEMU_BLOCK_RETURN, {0xc3}, 1, 0},
	{QEMU_BLOCK_JUMP_INDIRECT, {0xff, 0xe0}, 2, 0},
	{QEMU_BLOCK_CALL_INDIRECT, {0xff, 0xd0}, 2, 0},
	{QEMU_BLOCK_REPEAT, {0xf3, 0xa4}, 2, 0},
	{QEMU_BLOCK_SYSCALL, {0x0f, 0x05}, 2, 0},
};

static void make_program(struct walk *walk)
{
	size_t ending[BLOCKS], at = 0;

	memset(walk->code, 0x90, sizeof(walk->code));
	for (size_t i = 0; i < BLOCKS; i++) {
		struct piece *piece = &walk->pieces[i];
		size_t nops = draw(walk, NOPS_MAX);

		/* Unconditional branches alone could make a loop that never ends and makes no
		 * packets. */
		ending[i] = draw(walk, sizeof(endings) / sizeof(endings[0]));
		piece->kind = endings[ending[i]].kind;
		piece->start = BASE + at;
		memset(piece->lengths, 1, nops);
		piece->lengths[nops] = endings[ending[i]].opcode_size + endings[ending[i]].displacement;
		piece->count = nops + 1;
		at += nops;
		memcpy(walk->code + at, endings[ending[i]].bytes, endings[ending[i]].opcode_size);
		at += piece->lengths[nops];
	}
	for (size_t i = 0; i < BLOCKS; i++) {
		struct piece *piece = &walk->pieces[i];
		uint64_t end = i + 1 < BLOCKS ? piece[1].start : BASE + at;
		/* Direct jumps lead forward, so every loop has a packet. */
		size_t first = piece->kind == QEMU_BLOCK_JUMP || piece->kind == QEMU_BLOCK_CALL ? i + 1 : 0;
		int32_t displacement;

		if (!endings[ending[i]].displacement)
			continue;
		piece->target = first < BLOCKS ? walk->pieces[first + draw(walk, BLOCKS - first)].start : end;
		displacement = (int32_t)(piece->target - end);
		memcpy(walk->code + (end - BASE) - 4, &displacement, sizeof(displacement));
	}
	/* After the last block the program starts again. */
	walk->code[at] = 0xe9;
	int32_t back = -(int32_t)(at + 5);
	memcpy(walk->code + at + 1, &back, sizeof(back));
	walk->restorer = (struct piece){RESTORER, 0, 2, {7, 2}, QEMU_BLOCK_SYSCALL};
	memcpy(walk->code + (RESTORER - BASE), "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", 9);
}

static struct piece piece_at(const struct walk *walk, uint64_t address)
{
	const struct piece *last = &walk->pieces[BLOCKS - 1];
	uint64_t end = last->start;

	if (address == RESTORER)
		return walk->restorer;
	for (size_t i = 0; i < BLOCKS; i++) {
		uint64_t at = walk->pieces[i].start;

		for (size_t j = 0; j < walk->pieces[i].count; j++) {
			if (at == address) {
				struct piece part = walk->pieces[i];

				part.start = address;
				part.count -= j;
				memmove(part.lengths, part.lengths + j, part.count);
				return part;
			}
			at += walk->pieces[i].lengths[j];
		}
	}
	for (size_t j = 0; j < last->count; j++)
		end += last->lengths[j];
	assert_int_equal(address, end);
	return (struct piece){end, BASE, 1, {5}, QEMU_BLOCK_JUMP};
}

/* ---- executing it as QEMU would ------------------------------------------------------------- */

static void drain(struct walk *walk)
{
	static _Alignas(8) uint8_t message[QEMU_MESSAGE_MAX];
	const uint8_t *bytes;
	size_t size;

	while (qemu_channel_read_message(&walk->channel, walk->slot, message) > 0)
		assert_int_not_equal(((struct qemu_message *)(void *)message)->type, QEMU_MSG_NOTE);
	while ((size = qemu_channel_read_pt(&walk->channel, walk->slot, &bytes))) {
		walk->stream = realloc(walk->stream, walk->stream_size + size);
		assert_non_null(walk->stream);
		memcpy(walk->stream + walk->stream_size, bytes, size);
		walk->stream_size += size;
		qemu_channel_consume_pt(&walk->channel, walk->slot, size);
	}
}

/* As the callback of each block does. */
static struct plugin_block *enter(struct walk *walk, const struct piece *piece)
{
	struct plugin_block_source source = {piece->start,   piece->target, piece->count,
					     piece->lengths, piece->kind,   plugin.config.return_compression,
					     false};
	bool is_new;
	struct plugin_block *block = plugin_block_get(&plugin.blocks, &source, &is_new);
	struct qemu_slot *slot = plugin_slots[0];
	enum plugin_fast result;

	assert_non_null(block);
	result = plugin_encoder_fast(slot, block, true);
	if (result == PLUGIN_FAST_SLOW)
		result = plugin_encoder_return(slot, block, true);
	if (result == PLUGIN_FAST_SLOW)
		plugin_enter_slow(0, block, (uint64_t)walk->env);
	else if (result == PLUGIN_FAST_TNT_FULL && plugin_encoder_tnt_full(slot, &plugin.config))
		plugin_between_steps(slot, slot->block_ip);
	if (block->pushes)
		plugin_encoder_expect_call(walk->slot, block);
	drain(walk);
	return block;
}

static void expect(struct walk *walk, const struct piece *piece, size_t count)
{
	uint64_t at = piece->start;

	walk->expected = realloc(walk->expected, (walk->expected_count + count) * sizeof(uint64_t));
	assert_true(walk->expected || !count);
	for (size_t i = 0; i < count; i++) {
		walk->expected[walk->expected_count++] = at;
		at += piece->lengths[i];
	}
}

/* Where the piece, executed wholly, goes on. */
static uint64_t choose_next(struct walk *walk, const struct piece *piece, uint64_t end, uint64_t last)
{
	uint64_t anywhere = walk->pieces[draw(walk, BLOCKS)].start;

	switch (piece->kind) {
	case QEMU_BLOCK_COND:
		return draw(walk, 2) ? piece->target : end;
	case QEMU_BLOCK_JUMP:
		return piece->target;
	case QEMU_BLOCK_CALL:
	case QEMU_BLOCK_CALL_INDIRECT:
		walk->calls[walk->depth++ % 256] = end;
		if (piece->kind == QEMU_BLOCK_CALL)
			return piece->target;
		/* No call calls itself: that would be taken for QEMU's starting again. */
		return anywhere == last ? walk->pieces[1].start : anywhere;
	case QEMU_BLOCK_RETURN:
		return walk->depth && draw(walk, 20) ? walk->calls[--walk->depth % 256] : anywhere;
	case QEMU_BLOCK_JUMP_INDIRECT:
		return anywhere;
	case QEMU_BLOCK_REPEAT:
		return draw(walk, 3) ? last : end;
	default:
		return end;
	}
}

/* As QEMU makes it; the siginfo comes after the ucontext. */
struct frame {
	uint64_t pretcode, flags, link, stack[3], registers[18], rest[14];
	siginfo_t info;
};

/* Delivers a signal that interrupted `address`, runs the handler, and returns to the address. */
static void deliver(struct walk *walk, uint64_t address, bool fault)
{
	static struct frame frame;
	struct piece handler = walk->pieces[0];

	frame = (struct frame){.pretcode = RESTORER, .registers[16] = address};
	frame.info.si_signo = fault ? SIGSEGV : SIGUSR1;
	frame.info.si_code = fault ? SEGV_MAPERR : SI_USER;
	walk->env[PLUGIN_RSP] = (uint64_t)&frame;
	walk->env[PLUGIN_RDI] = (uint64_t)frame.info.si_signo;
	walk->env[PLUGIN_RDX] = (uint64_t)&frame.flags;
	walk->env[PLUGIN_RSI] = (uint64_t)&frame.info;
	enter(walk, &handler);
	memset(walk->env, 0, sizeof(walk->env));
	expect(walk, &handler, handler.count);
	enter(walk, &walk->restorer);
	expect(walk, &walk->restorer, walk->restorer.count);
	plugin_leave_for_syscall(walk->slot);
	drain(walk);
}

static uint64_t step(struct walk *walk, uint64_t address)
{
	struct piece piece = piece_at(walk, address);
	struct plugin_block *block = enter(walk, &piece);
	size_t whole = piece.count;
	uint64_t next;

	if (!draw(walk, 40)) {
		/* A fault in its middle; what was interrupted is then executed after all. */
		size_t index = draw(walk, piece.count);

		next = plugin_block_address(block, index);
		expect(walk, &piece, index);
		deliver(walk, next, true);
		return next;
	}
	next = choose_next(walk, &piece, block->end, block->last);
	if (piece.kind == QEMU_BLOCK_REPEAT && next == block->last)
		whole--;
	expect(walk, &piece, whole);
	if (piece.kind == QEMU_BLOCK_SYSCALL) {
		plugin_leave_for_syscall(walk->slot);
		drain(walk);
	}
	if (!draw(walk, 40))
		deliver(walk, next, false);
	if (!draw(walk, 100)) {
		pthread_mutex_lock(&plugin.lock);
		plugin_mapping_begin(walk->slot);
		pthread_mutex_unlock(&plugin.lock);
	}
	return next;
}

static void start(struct walk *walk, const struct qemu_channel_config *config, uint64_t seed)
{
	memset(walk, 0, sizeof(*walk));
	walk->state = seed * 0x9e3779b97f4a7c15ull + 1;
	assert_int_equal(qemu_channel_create(&walk->channel, config), 0);
	plugin.config = walk->channel.config;
	plugin.header = walk->channel.header;
	plugin.arena = walk->channel.base;
	plugin.pid = (uint32_t)getpid();
	plugin.process = 1;
	plugin.started = true;
	plugin.stopped = false;
	plugin.epoch = 1;
	plugin.change_time = plugin.psb_time = 0;
	plugin.vcpu_high = 1;
	plugin_block_clear(&plugin.blocks);
	plugin.vcpus[0] = (struct plugin_vcpu){.slot = &plugin_unattached};
	plugin_slots[0] = &plugin_unattached;
	plugin_thread_slot = NULL;
	make_program(walk);
	/* The first block is the handler: it ends with a return to the restorer. The second is no
	 * call. */
	walk->pieces[0].kind = QEMU_BLOCK_RETURN;
	walk->pieces[0].target = 0;
	memset(walk->code, 0x90, walk->pieces[1].start - BASE);
	walk->pieces[0].count = walk->pieces[1].start - BASE > NOPS_MAX ? NOPS_MAX + 1 : walk->pieces[1].start - BASE;
	memset(walk->pieces[0].lengths, 1, sizeof(walk->pieces[0].lengths));
	walk->code[walk->pieces[0].count - 1] = 0xc3;
	plugin.actions[SIGUSR1] = plugin.actions[SIGSEGV] = (struct plugin_signal_action){BASE, SA_SIGINFO, RESTORER};
	assert_int_equal(plugin_block_add_handler(&plugin.blocks, BASE), 0);
	walk->slot = plugin_thread_claim();
	assert_non_null(walk->slot);
}

static void finish(struct walk *walk)
{
	plugin_block_clear(&plugin.blocks);
	qemu_channel_destroy(&walk->channel);
	free(walk->expected);
	free(walk->stream);
}

/* ---- what libipt makes of it ---------------------------------------------------------------- */

static int read_code(uint8_t *buffer, size_t size, const struct pt_asid *asid, uint64_t ip, void *context)
{
	const struct walk *walk = context;

	(void)asid;
	if (ip < BASE || ip >= BASE + CODE_SIZE)
		return -pte_nomap;
	if (size > BASE + CODE_SIZE - ip)
		size = BASE + CODE_SIZE - ip;
	memcpy(buffer, walk->code + (ip - BASE), size);
	return (int)size;
}

static void check(struct walk *walk)
{
	struct pt_config config;
	struct pt_insn_decoder *decoder;
	struct pt_image *image = pt_image_alloc(NULL);
	struct pt_insn insn;
	uint64_t tsc = 0, now;
	size_t count = 0;
	int status;

	pt_config_init(&config);
	config.begin = walk->stream;
	config.end = walk->stream + walk->stream_size;
	config.nom_freq = QEMU_NOMINAL_RATIO;
	config.mtc_freq = (uint8_t)plugin.config.mtc_shift;
	config.cpuid_0x15_eax = QEMU_CPUID_15_EAX;
	config.cpuid_0x15_ebx = QEMU_CPUID_15_EBX;
	decoder = pt_insn_alloc_decoder(&config);
	assert_non_null(decoder);
	pt_image_set_callback(image, read_code, walk);
	pt_insn_set_image(decoder, image);
	status = pt_insn_sync_forward(decoder);
	while (status >= 0) {
		while (status >= 0 && status & pts_event_pending) {
			struct pt_event event;

			status = pt_insn_event(decoder, &event, sizeof(event));
			assert_int_not_equal(event.type, ptev_overflow);
		}
		if (status < 0)
			break;
		status = pt_insn_next(decoder, &insn, sizeof(insn));
		if (status < 0)
			break;
		assert_true(count < walk->expected_count);
		assert_int_equal(insn.ip, walk->expected[count]);
		count++;
		if (plugin.config.timing >= PTL_TIMING_TSC && pt_insn_time(decoder, &now, NULL, NULL) >= 0) {
			/* Estimated between packets, to a period of the MTC. */
			assert_true(now + (40u << plugin.config.mtc_shift) >= tsc);
			tsc = now;
		}
	}
	assert_int_equal(status, -pte_eos);
	assert_int_equal(count, walk->expected_count);
	if (plugin.config.timing >= PTL_TIMING_TSC)
		assert_true(tsc >= plugin.config.virtual_start &&
			    tsc <= plugin_encoder_now(walk->slot, &plugin.config) + (40u << plugin.config.mtc_shift));
	pt_insn_free_decoder(decoder);
	pt_image_free(image);
}

static void walk_and_check(const struct qemu_channel_config *config, uint64_t seed)
{
	static struct walk walk;
	uint64_t address;

	start(&walk, config, seed);
	address = walk.pieces[1].start;
	for (unsigned i = 0; i < STEPS; i++)
		address = step(&walk, address);
	/* Killed in the middle of a block: of that block nothing is known to have been executed. */
	struct piece piece = piece_at(&walk, address);
	enter(&walk, &piece);
	assert_int_equal(qemu_channel_finish(&walk.channel, walk.slot), 0);
	drain(&walk);
	check(&walk);
	finish(&walk);
}

static const struct qemu_channel_config basic = {
	.slot_count = 1,
	.timing = PTL_TIMING_TSC,
	.clock = PTL_CLOCK_VIRTUAL,
	.return_compression = 1,
	.mtc_shift = QEMU_MTC_SHIFT_DEFAULT,
	.psb_period = 2048,
	.pt_ring_size = 65536,
	.message_ring_size = 65536,
	.virtual_start = 1000,
};

static void test_walks(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		walk_and_check(&basic, seed);
}

static void test_no_return_compression(void **state)
{
	struct qemu_channel_config config = basic;

	(void)state;
	config.return_compression = 0;
	for (uint64_t seed = 1; seed <= 4; seed++)
		walk_and_check(&config, seed);
}

static void test_timing_modes(void **state)
{
	static const uint32_t modes[] = {PTL_TIMING_NONE, PTL_TIMING_MTC, PTL_TIMING_CYC};
	struct qemu_channel_config config = basic;

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		config.timing = modes[i];
		config.clock = PTL_CLOCK_VIRTUAL;
		walk_and_check(&config, 20 + i);
		config.clock = PTL_CLOCK_MONOTONIC;
		config.virtual_start = 0;
		walk_and_check(&config, 30 + i);
	}
}

static void test_psb_periods(void **state)
{
	static const uint64_t periods[] = {64, 100, 1000, 65536};
	struct qemu_channel_config config = basic;

	(void)state;
	for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++) {
		config.psb_period = periods[i];
		walk_and_check(&config, 40 + i);
	}
}

/* The virtual clock: the same program makes the same bytes. */
static void test_same_bytes(void **state)
{
	static struct walk walks[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		uint64_t address;

		start(&walks[i], &basic, 7);
		address = walks[i].pieces[1].start;
		for (unsigned j = 0; j < STEPS; j++)
			address = step(&walks[i], address);
	}
	assert_int_equal(walks[0].stream_size, walks[1].stream_size);
	assert_memory_equal(walks[0].stream, walks[1].stream, walks[0].stream_size);
	finish(&walks[0]);
	finish(&walks[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walks),        cmocka_unit_test(test_no_return_compression),
		cmocka_unit_test(test_timing_modes), cmocka_unit_test(test_psb_periods),
		cmocka_unit_test(test_same_bytes),
	};

	return cmocka_run_group_tests_name("QEMU plugin: walks", tests, NULL, NULL);
}
