/* SPDX-License-Identifier: BSD-2-Clause */
/* The plugin's smaller parts: classifier, blocks, known code, memory maps, signal frames. */

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <Zydis/Zydis.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record/qemu/plugin/address_space.h"
#include "record/qemu/plugin/block.h"
#include "record/qemu/plugin/classify.h"
#include "record/qemu/plugin/guest.h"
#include "record/process/maps.h"

/* ---- classify ------------------------------------------------------------------------------- */

static enum qemu_block_kind kind_by_zydis(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *operands)
{
	bool direct = insn->operand_count && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	bool far = insn->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;

	switch (insn->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		return QEMU_BLOCK_COND;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return far ? QEMU_BLOCK_FAR : direct ? QEMU_BLOCK_JUMP : QEMU_BLOCK_JUMP_INDIRECT;
	case ZYDIS_CATEGORY_CALL:
		return far ? QEMU_BLOCK_FAR : direct ? QEMU_BLOCK_CALL : QEMU_BLOCK_CALL_INDIRECT;
	case ZYDIS_CATEGORY_RET:
		return insn->mnemonic == ZYDIS_MNEMONIC_RET && insn->meta.branch_type != ZYDIS_BRANCH_TYPE_FAR
			       ? QEMU_BLOCK_RETURN
			       : QEMU_BLOCK_FAR;
	default:
		break;
	}
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
	case ZYDIS_MNEMONIC_SYSENTER:
		return QEMU_BLOCK_SYSCALL;
	case ZYDIS_MNEMONIC_SYSRET:
	case ZYDIS_MNEMONIC_SYSEXIT:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
		return QEMU_BLOCK_FAR;
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT1:
		return QEMU_BLOCK_TRAP;
	case ZYDIS_MNEMONIC_INT:
		return operands[0].imm.value.u == 0x80 ? QEMU_BLOCK_SYSCALL : QEMU_BLOCK_TRAP;
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
		return QEMU_BLOCK_UNDEFINED;
	default:
		break;
	}
	if (insn->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		return QEMU_BLOCK_REPEAT;
	return QEMU_BLOCK_LINEAR;
}

/* Random bytes that Zydis decodes: both must call them the same. Transactions and Knights Corner
 * are not QEMU's. */
static void test_classify_like_zydis(void **state)
{
	ZydisDecoder decoder;
	uint64_t random = 88172645463325252ull;
	unsigned branches = 0;

	(void)state;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (unsigned i = 0; i < 2000000; i++) {
		ZydisDecodedInstruction insn;
		ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
		uint8_t bytes[16];
		struct plugin_instruction mine;

		for (size_t j = 0; j < sizeof(bytes); j += 8) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			memcpy(bytes + j, &random, 8);
		}
		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, bytes, sizeof(bytes), &insn, operands)) ||
		    insn.mnemonic == ZYDIS_MNEMONIC_XBEGIN || insn.mnemonic == ZYDIS_MNEMONIC_XABORT ||
		    insn.mnemonic == ZYDIS_MNEMONIC_JKZD || insn.mnemonic == ZYDIS_MNEMONIC_JKNZD)
			continue;
		mine = plugin_classify(bytes, insn.length, 0x400000);
		assert_int_equal(mine.kind, kind_by_zydis(&insn, operands));
		if (mine.kind == QEMU_BLOCK_COND || mine.kind == QEMU_BLOCK_JUMP || mine.kind == QEMU_BLOCK_CALL) {
			assert_int_equal(mine.target, 0x400000 + insn.length + (uint64_t)operands[0].imm.value.s);
			branches++;
		}
		assert_false(plugin_is_cut(bytes, insn.length));
		if (insn.length > 1 && insn.meta.category == ZYDIS_CATEGORY_CALL)
			assert_true(plugin_is_cut(bytes, insn.length - 1u));
	}
	assert_true(branches > 10000);
}

/* ---- blocks --------------------------------------------------------------------------------- */

static struct plugin_block *block_of(struct plugin_block_table *table, uint64_t start, enum qemu_block_kind kind,
				     uint64_t target, size_t count)
{
	static const uint8_t lengths[8] = {3, 1, 2, 5, 4, 4, 4, 4};
	struct plugin_block_source source = {start, target, count, lengths, kind, true, false};
	bool is_new;

	return plugin_block_get(table, &source, &is_new);
}

static void test_block_is_made_once(void **state)
{
	struct plugin_block_table table = {0};
	struct plugin_block *first = block_of(&table, 0x1000, QEMU_BLOCK_COND, 0x2000, 3);

	(void)state;
	assert_int_equal(first->end, 0x1006);
	assert_int_equal(first->last, 0x1004);
	assert_int_equal(first->key, 0x1000);
	for (uint64_t i = 0; i < 20000; i++)
		assert_non_null(block_of(&table, 0x100000 + i * 16, QEMU_BLOCK_LINEAR, 0, 4));
	assert_ptr_equal(block_of(&table, 0x1000, QEMU_BLOCK_COND, 0x2000, 3), first);
	assert_ptr_not_equal(block_of(&table, 0x1000, QEMU_BLOCK_COND, 0x3000, 3), first);
	assert_ptr_not_equal(block_of(&table, 0x1000, QEMU_BLOCK_COND, 0x2000, 2), first);
	assert_int_equal(table.block_count, 20003);
	plugin_block_clear(&table);
}

static void test_block_positions(void **state)
{
	struct plugin_block_table table = {0};
	struct plugin_block *block = block_of(&table, 0x1000, QEMU_BLOCK_COND, 0x2000, 3);

	(void)state;
	assert_int_equal(plugin_block_index(block, 0x1000), 0);
	assert_int_equal(plugin_block_index(block, 0x1003), 1);
	assert_int_equal(plugin_block_index(block, 0x1004), 2);
	assert_int_equal(plugin_block_index(block, 0x1006), 3);
	assert_int_equal(plugin_block_index(block, 0x1001), -1);
	assert_int_equal(plugin_block_index(block, 0x1007), -1);
	assert_int_equal(plugin_block_address(block, 2), 0x1004);
	assert_true(plugin_block_leads_to(block, 0x2000));
	assert_true(plugin_block_leads_to(block, 0x1006));
	assert_false(plugin_block_leads_to(block, 0x1003));
	plugin_block_clear(&table);
}

/* Blocks translated before and after the handler was registered are both entered by the slow path.
 */
static void test_handlers(void **state)
{
	struct plugin_block_table table = {0};
	struct plugin_block *before = block_of(&table, 0x5000, QEMU_BLOCK_RETURN, 0, 2);

	(void)state;
	assert_int_equal(before->key, 0x5000);
	assert_int_equal(plugin_block_add_handler(&table, 0x5000), 0);
	assert_int_equal(plugin_block_add_handler(&table, 0x5000), 0);
	assert_int_equal(table.handler_count, 1);
	assert_true(plugin_block_is_handler(&table, 0x5000));
	assert_int_equal(before->key, PLUGIN_NO_KEY);
	assert_int_equal(block_of(&table, 0x5000, QEMU_BLOCK_RETURN, 0, 3)->key, PLUGIN_NO_KEY);
	assert_int_equal(block_of(&table, 0x5003, QEMU_BLOCK_RETURN, 0, 3)->key, 0x5003);
	plugin_block_clear(&table);
}

static void test_restarts(void **state)
{
	struct plugin_block_table table = {0};
	struct plugin_block *jump = block_of(&table, 0x1000, QEMU_BLOCK_JUMP_INDIRECT, 0, 4);
	struct plugin_block *call = block_of(&table, 0x3000, QEMU_BLOCK_CALL_INDIRECT, 0, 2);

	(void)state;
	/* One instruction out of its middle, but not the whole rest from there on. */
	assert_true(plugin_block_is_restart(jump, block_of(&table, 0x1003, QEMU_BLOCK_LINEAR, 0, 1)));
	assert_false(plugin_block_is_restart(jump, block_of(&table, 0x1003, QEMU_BLOCK_JUMP_INDIRECT, 0, 3)));
	assert_false(plugin_block_is_restart(jump, block_of(&table, 0x1002, QEMU_BLOCK_LINEAR, 0, 1)));
	assert_false(plugin_block_is_restart(jump, block_of(&table, 0x9000, QEMU_BLOCK_LINEAR, 0, 1)));
	assert_true(plugin_block_is_restart(call, block_of(&table, 0x3003, QEMU_BLOCK_CALL_INDIRECT, 0, 1)));
	plugin_block_clear(&table);
}

/* ---- known code ----------------------------------------------------------------------------- */

static struct plugin_image image_at(uint64_t base, uint64_t end)
{
	static char path[] = "/lib/some.so";

	return (struct plugin_image){.base = base, .end = end, .file_offset = 0x3000, .path = path, .executable = true};
}

static void test_images_replace_each_other(void **state)
{
	struct plugin_address_space space = {0};
	struct plugin_image wide = image_at(0x10000, 0x20000), narrow = image_at(0x14000, 0x15000);

	(void)state;
	assert_int_equal(plugin_space_add(&space, &wide), 0);
	assert_int_equal(plugin_space_add(&space, &narrow), 0);
	assert_int_equal(space.count, 3);
	assert_int_equal(space.images[0].end, 0x14000);
	assert_int_equal(space.images[2].base, 0x15000);
	assert_int_equal(space.images[2].file_offset, 0x8000);
	assert_ptr_equal(plugin_space_find(&space, 0x14fff), &space.images[1]);
	assert_null(plugin_space_find(&space, 0x20000));
	assert_true(plugin_space_remove(&space, 0x12000, 0x18000));
	assert_int_equal(space.count, 2);
	assert_null(plugin_space_find(&space, 0x12000));
	assert_int_equal(plugin_space_find(&space, 0x18000)->file_offset, 0xb000);
	assert_false(plugin_space_remove(&space, 0x12000, 0x18000));
	plugin_space_clear(&space);
}

static void test_code_is_learned_once(void **state)
{
	struct plugin_address_space space = {0};
	struct plugin_image image = image_at(0x10000, 0x20000);
	uint8_t bytes[64];

	(void)state;
	memset(bytes, 0x90, sizeof(bytes));
	assert_int_equal(plugin_space_add(&space, &image), 0);
	assert_int_equal(plugin_space_learn(&space, 0x10010, bytes, 16), PLUGIN_LEARNED_MORE);
	assert_int_equal(plugin_space_learn(&space, 0x10010, bytes, 16), PLUGIN_LEARNED_NOTHING);
	assert_int_equal(plugin_space_learn(&space, 0x10018, bytes, 16), PLUGIN_LEARNED_MORE);
	bytes[3] = 0xcc;
	assert_int_equal(plugin_space_learn(&space, 0x10014, bytes, 8), PLUGIN_LEARNED_CHANGE);
	assert_int_equal(plugin_space_learn(&space, 0x10014, bytes, 8), PLUGIN_LEARNED_NOTHING);
	for (uint64_t page = 0x30000; page < 0x30000 + 2000 * PLUGIN_PAGE; page += PLUGIN_PAGE)
		assert_int_equal(plugin_space_learn(&space, page, bytes, 8), PLUGIN_LEARNED_MORE);
	assert_non_null(plugin_space_page(&space, 0x10000));
	plugin_space_remove(&space, 0x10000, 0x11000);
	assert_null(plugin_space_page(&space, 0x10000));
	assert_non_null(plugin_space_page(&space, 0x30000));
	plugin_space_remove(&space, 0, 1ull << 47);
	assert_int_equal(space.page_count, 0);
	plugin_space_clear(&space);
}

/* ---- /proc/self/maps ------------------------------------------------------------------------ */

static void test_maps_lines(void **state)
{
	static struct record_map_entry entry;

	(void)state;
	assert_true(
		record_maps_parse("7f0010000000-7f0010021000 r-xp 00003000 fe:01 1234   /usr/lib/a b.so\n", &entry));
	assert_int_equal(entry.base, 0x7f0010000000);
	assert_int_equal(entry.end, 0x7f0010021000);
	assert_int_equal(entry.file_offset, 0x3000);
	assert_int_equal(entry.inode, 1234);
	assert_string_equal(entry.path, "/usr/lib/a b.so");
	assert_false(entry.deleted || entry.shared || entry.writable);
	assert_true(record_maps_parse("1000-2000 rw-s 00000000 00:01 9 /memfd:x (deleted)\n", &entry));
	assert_true(entry.deleted && entry.shared && entry.writable);
	assert_true(record_maps_parse("1000-2000 rw-p 00000000 00:00 0 [heap]\n", &entry));
	assert_string_equal(entry.path, "");
	assert_true(record_maps_parse("1000-2000 r-xp 00000000 00:2b 5 /tmp/gone (deleted)\n", &entry));
	assert_string_equal(entry.path, "/tmp/gone");
	assert_true(entry.deleted);
	assert_false(record_maps_parse("1000-2000 r-xp\n", &entry));
	assert_false(record_maps_parse("hello\n", &entry));
}

static void test_maps_find(void **state)
{
	static struct record_map_entry entry;

	(void)state;
	assert_true(record_maps_find((uint64_t)(uintptr_t)test_maps_find, &entry));
	assert_true(entry.path[0] == '/' && !entry.deleted && entry.inode);
	assert_false(record_maps_find(0x10, &entry));
}

/* The kernel shows a line feed of a path as it shows a path that has these four characters. */
static void test_maps_line_feed(void **state)
{
	static const char *const names[] = {"a\nb\nc", "a\\012b\\012c"};
	static struct record_map_entry entry;
	char folder[] = "/tmp/ptl-maps-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		void *mapped;
		int fd;

		snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		assert_true(fd >= 0 && ftruncate(fd, 4096) == 0);
		mapped = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
		assert_ptr_not_equal(mapped, MAP_FAILED);
		assert_true(record_maps_find((uint64_t)(uintptr_t)mapped, &entry));
		assert_false(entry.deleted);
		assert_string_equal(entry.path, path);
		munmap(mapped, 4096);
		close(fd);
		unlink(path);
	}
	rmdir(folder);
}

/* ---- memory and signal frames --------------------------------------------------------------- */

static void test_guest_memory(void **state)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[64];
	uint64_t value;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	munmap(page + 4096, 4096);
	strcpy(page + 4090, "hello");
	assert_int_equal(plugin_guest_read_string((uint64_t)page + 4090, text, sizeof(text)), 5);
	assert_string_equal(text, "hello");
	assert_int_equal(plugin_guest_read_string((uint64_t)page + 4090, text, 5), -ENAMETOOLONG);
	page[4095] = '!';
	assert_int_equal(plugin_guest_read_string((uint64_t)page + 4090, text, sizeof(text)), -EFAULT);
	assert_false(plugin_guest_read((uint64_t)page + 4092, &value, sizeof(value)));
	assert_false(plugin_guest_read(0, &value, sizeof(value)));
	munmap(page, 4096);
}

struct frame {
	uint64_t pretcode, flags, link, stack[3], registers[18], rest[14];
	siginfo_t info;
};

static struct plugin_handler_entry entry_of(const struct frame *frame, int number)
{
	return (struct plugin_handler_entry){
		.rsp = (uint64_t)frame,
		.rdi = (uint64_t)number,
		.rsi = (uint64_t)&frame->info,
		.rdx = (uint64_t)&frame->flags,
	};
}

static void test_signal_frames(void **state)
{
	struct plugin_signal_action actions[PLUGIN_SIGNAL_MAX + 1] = {
		[SIGUSR1] = {0x5000, 0, 0x7777},
		[SIGSEGV] = {0x6000, SA_SIGINFO, 0x7777},
		[SIGFPE] = {0x6000, 0, 0x7777},
	};
	struct plugin_block_table table = {0};
	struct frame frame = {.pretcode = 0x7777, .registers[16] = 0x1234};
	struct frame inner = {.pretcode = 0x7777, .registers[16] = 0x5000};
	struct plugin_handler_entry entry = entry_of(&frame, SIGUSR1);
	struct plugin_signal signal;

	(void)state;
	assert_int_equal(plugin_block_add_handler(&table, 0x5000), 0);
	assert_true(plugin_guest_signal(&entry, actions, &table, &signal));
	assert_int_equal(signal.interrupted, 0x1234);
	assert_int_equal(signal.number, SIGUSR1);
	assert_false(signal.synchronous);

	/* A handler that the program calls itself has no frame. */
	frame.pretcode = 0x8888;
	assert_false(plugin_guest_signal(&entry, actions, &table, &signal));
	frame.pretcode = 0x7777;
	entry.rdx += 8;
	assert_false(plugin_guest_signal(&entry, actions, &table, &signal));
	entry = entry_of(&frame, SIGUSR1);
	entry.rsp = entry.rdx = entry.rsi = 0;
	assert_false(plugin_guest_signal(&entry, actions, &table, &signal));

	/* Sent by a process, or caused by an instruction; known only with SA_SIGINFO. */
	entry = entry_of(&frame, SIGSEGV);
	frame.info.si_code = SI_USER;
	assert_true(plugin_guest_signal(&entry, actions, &table, &signal));
	assert_false(signal.synchronous);
	frame.info.si_code = SEGV_MAPERR;
	assert_true(plugin_guest_signal(&entry, actions, &table, &signal));
	assert_true(signal.synchronous);
	entry = entry_of(&frame, SIGFPE);
	assert_true(plugin_guest_signal(&entry, actions, &table, &signal));
	assert_true(signal.synchronous);

	/* Two at once: the second interrupted the first one's handler before it began. */
	entry = entry_of(&inner, SIGSEGV);
	inner.info.si_code = SI_USER;
	inner.registers[15] = (uint64_t)&frame;
	inner.registers[8] = SIGUSR1;
	inner.registers[9] = (uint64_t)&frame.info;
	inner.registers[12] = (uint64_t)&frame.flags;
	assert_true(plugin_guest_signal(&entry, actions, &table, &signal));
	assert_int_equal(signal.interrupted, 0x1234);
	assert_int_equal(signal.number, SIGUSR1);
	plugin_block_clear(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_classify_like_zydis),
		cmocka_unit_test(test_block_is_made_once),
		cmocka_unit_test(test_block_positions),
		cmocka_unit_test(test_handlers),
		cmocka_unit_test(test_restarts),
		cmocka_unit_test(test_images_replace_each_other),
		cmocka_unit_test(test_code_is_learned_once),
		cmocka_unit_test(test_maps_lines),
		cmocka_unit_test(test_maps_find),
		cmocka_unit_test(test_maps_line_feed),
		cmocka_unit_test(test_guest_memory),
		cmocka_unit_test(test_signal_frames),
	};

	return cmocka_run_group_tests_name("QEMU plugin: parts", tests, NULL, NULL);
}
