/* SPDX-License-Identifier: BSD-2-Clause */
/* The QEMU plugin that makes Intel PT packets: its entry point and the callbacks QEMU makes. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record/qemu/plugin/classify.h"
#include "record/qemu/plugin/encoder.h"
#include "record/qemu/plugin/plugin.h"
#include "record/qemu/plugin/qemu_plugin_abi.h"

#define EXPORT __attribute__((visibility("default")))

/* More than QEMU translates at once. */
#define INSTRUCTIONS_MAX 1024
#define BYTES_MAX (INSTRUCTIONS_MAX * 15)
#define VSYSCALL_PAGE 0xffffffffff600000ull

EXPORT extern int qemu_plugin_version;
EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_info *info, int argc, char **argv);
int qemu_plugin_version = PLUGIN_QEMU_PLUGIN_VERSION;

/* ---- execution ------------------------------------------------------------------------------ */

/*
 * QEMU's generated code calls one of these for each block, with its pointer to the guest's
 * registers in RBP, where it keeps it. The plugin interface does not pass it on, so the first
 * instruction does. There is one for blocks that end in a call, one for others, and both again for
 * the virtual clock, which counts instructions.
 */
#define ENTRY(name)                                                                                                    \
	void plugin_on_##name(unsigned vcpu, void *block);                                                             \
	void plugin_entered_##name(unsigned vcpu, void *block, uint64_t env);                                          \
	__asm__(".text\n"                                                                                              \
		".hidden plugin_on_" #name "\n"                                                                        \
		".type plugin_on_" #name ", @function\n"                                                               \
		"plugin_on_" #name ":\n"                                                                               \
		"	mov %rbp, %rdx\n"                                                                                    \
		"	jmp plugin_entered_" #name "\n"                                                                \
		".size plugin_on_" #name ", . - plugin_on_" #name "\n");                                               \
	__attribute__((used, visibility("hidden"))) void plugin_entered_##name(unsigned vcpu, void *block, uint64_t env)

static __attribute__((noinline, cold)) void tnt_full(struct qemu_slot *slot)
{
	if (plugin_encoder_tnt_full(slot, &plugin.config))
		plugin_between_steps(slot, slot->block_ip);
}

/* What the fast path does not do. */
static __attribute__((noinline)) void enter_other(unsigned vcpu, struct plugin_block *block, uint64_t env, bool counted)
{
	struct qemu_slot *slot = plugin_slots[vcpu];

	switch (plugin_encoder_return(slot, block, counted)) {
	case PLUGIN_FAST_DONE:
		break;
	case PLUGIN_FAST_TNT_FULL:
		tnt_full(slot);
		break;
	case PLUGIN_FAST_SLOW:
		plugin_enter_slow(vcpu, block, env);
		break;
	}
}

static inline __attribute__((always_inline)) void enter(unsigned vcpu, struct plugin_block *block, uint64_t env,
							bool counted, bool calls)
{
	struct qemu_slot *slot = plugin_slots[vcpu %= PLUGIN_VCPU_MAX];
	enum plugin_fast result = plugin_encoder_fast(slot, block, counted);

	if (__builtin_expect(result == PLUGIN_FAST_SLOW, 0)) {
		enter_other(vcpu, block, env, counted);
		/* That may have attached the thread, or ended its stream. */
		slot = plugin.vcpus[vcpu].slot;
		calls = calls && slot->block_ip;
	} else if (__builtin_expect(result == PLUGIN_FAST_TNT_FULL, 0)) {
		tnt_full(slot);
	}
	if (calls)
		plugin_encoder_expect_call(slot, block);
}

ENTRY(block)
{
	enter(vcpu, block, env, false, false);
}

ENTRY(call)
{
	enter(vcpu, block, env, false, true);
}

ENTRY(counted_block)
{
	enter(vcpu, block, env, true, false);
}

ENTRY(counted_call)
{
	enter(vcpu, block, env, true, true);
}

/* With truth, speed matters less. */
ENTRY(truth)
{
	enter(vcpu, block, env, true, ((const struct plugin_block *)block)->pushes);
	if (plugin.vcpus[vcpu % PLUGIN_VCPU_MAX].slot->block_ip)
		plugin_truth_enter(plugin.vcpus[vcpu % PLUGIN_VCPU_MAX].slot, block);
}

static qemu_plugin_exec_cb entry_for(const struct plugin_block *block)
{
	if (plugin.config.truth)
		return plugin_on_truth;
	if (plugin.config.clock == PTL_CLOCK_VIRTUAL)
		return block->pushes ? plugin_on_counted_call : plugin_on_counted_block;
	return block->pushes ? plugin_on_call : plugin_on_block;
}

static void on_instruction(unsigned vcpu, void *unused)
{
	(void)unused;
	plugin.vcpus[vcpu % PLUGIN_VCPU_MAX].slot->truth_started++;
}

/* ---- translation ---------------------------------------------------------------------------- */

/* A block as it is being translated. */
struct translation {
	struct plugin_block_source source;
	uint8_t lengths[INSTRUCTIONS_MAX];
	uint8_t bytes[BYTES_MAX];
	size_t size;
};

/*
 * QEMU 7.2 leaves an instruction that crosses a page's end to a block of its own, unless it is the
 * block's first; but it goes on listing what it had read of it.
 */
static void drop_cut_instruction(struct translation *translation)
{
	size_t count = translation->source.count, size = translation->lengths[count - 1];
	uint64_t end = translation->source.start + translation->size;

	if (count < 2 || (end - size) % PLUGIN_PAGE + 15 <= PLUGIN_PAGE ||
	    !plugin_is_cut(translation->bytes + translation->size - size, size))
		return;
	translation->size -= size;
	translation->source.count--;
}

static bool read_translation(const struct qemu_plugin_tb *tb, struct translation *translation)
{
	size_t count = qemu_plugin_tb_n_insns(tb);
	struct plugin_instruction last;
	size_t size;

	if (count == 0 || count > INSTRUCTIONS_MAX)
		return false;
	translation->size = 0;
	translation->source = (struct plugin_block_source){
		.start = qemu_plugin_tb_vaddr(tb),
		.count = count,
		.lengths = translation->lengths,
		.compress_returns = plugin.config.return_compression,
	};
	/* QEMU reads no bytes there: it carries the call out itself. */
	if ((translation->source.start & ~(PLUGIN_PAGE - 1)) == VSYSCALL_PAGE) {
		translation->source.is_vsyscall = true;
		translation->source.kind = QEMU_BLOCK_UNDEFINED;
		translation->source.count = 1;
		translation->lengths[0] = 1;
		return true;
	}
	for (size_t i = 0; i < count; i++) {
		const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		size = qemu_plugin_insn_size(insn);
		if (size > 15)
			return false;
		memcpy(translation->bytes + translation->size, qemu_plugin_insn_data(insn), size);
		translation->lengths[i] = (uint8_t)size;
		translation->size += size;
	}
	drop_cut_instruction(translation);
	size = translation->lengths[translation->source.count - 1];
	last = plugin_classify(translation->bytes + translation->size - size, size,
			       translation->source.start + translation->size - size);
	translation->source.kind = last.kind;
	translation->source.target = last.target;
	return true;
}

static struct plugin_block *learn_block(const struct translation *translation)
{
	struct plugin_block *block;
	bool is_new;

	pthread_mutex_lock(&plugin.lock);

	struct qemu_slot *slot = plugin_thread_claim();

	block = plugin_block_get(&plugin.blocks, &translation->source, &is_new);
	if (block && !slot)
		plugin_block_set_flag(block, PLUGIN_BLOCK_UNANNOUNCED);
	if (block && slot) {
		/* The program's first block waits until the program has been announced. */
		if (plugin.started && is_new && plugin.config.truth)
			plugin_truth_define(slot, block);
		if (plugin.started && !translation->source.is_vsyscall)
			plugin_mapping_translated(slot, block->start, translation->bytes, translation->size);
	}
	pthread_mutex_unlock(&plugin.lock);
	return block;
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct translation translation;
	struct plugin_block *block;

	(void)id;
	if (__atomic_load_n(&plugin.stopped, __ATOMIC_RELAXED))
		return;
	block = read_translation(tb, &translation) ? learn_block(&translation) : NULL;
	if (!block) {
		/* Without all blocks there is no stream to be made. */
		__atomic_add_fetch(&plugin.header->untraced_processes, 1, __ATOMIC_RELAXED);
		plugin_stop();
		return;
	}
	qemu_plugin_register_vcpu_tb_exec_cb(tb, entry_for(block), QEMU_PLUGIN_CB_NO_REGS, block);
	if (plugin.config.truth)
		for (size_t i = 0; i < translation.source.count; i++)
			qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_tb_get_insn(tb, i), on_instruction,
							       QEMU_PLUGIN_CB_NO_REGS, NULL);
}

/* ---- threads and system calls --------------------------------------------------------------- */

/* Called by the thread that creates it. */
static void on_vcpu_init(qemu_plugin_id_t id, unsigned vcpu)
{
	struct qemu_slot *creator = plugin_thread_slot;

	(void)id;
	if (vcpu >= PLUGIN_VCPU_MAX)
		return;
	plugin_slots[vcpu] = &plugin_unattached;
	plugin.vcpus[vcpu] = (struct plugin_vcpu){.slot = &plugin_unattached, .alive = true};
	if (creator) {
		plugin.vcpus[vcpu].birth_time = plugin_encoder_now(creator, &plugin.config);
		plugin.vcpus[vcpu].creator_tid = creator->tid;
	}
	plugin_fork_vcpu(vcpu);
	if (vcpu >= plugin.vcpu_high)
		__atomic_store_n(&plugin.vcpu_high, vcpu + 1, __ATOMIC_RELEASE);
}

static void on_vcpu_exit(qemu_plugin_id_t id, unsigned vcpu)
{
	(void)id;
	if (vcpu >= PLUGIN_VCPU_MAX)
		return;
	__atomic_store_n(&plugin.vcpus[vcpu].alive, false, __ATOMIC_RELAXED);
	plugin.vcpus[vcpu].slot = plugin_slots[vcpu] = &plugin_unattached;
}

static bool is_traced(unsigned vcpu)
{
	const struct qemu_slot *slot = vcpu < PLUGIN_VCPU_MAX ? plugin.vcpus[vcpu].slot : NULL;

	return slot && slot != &plugin_untraced && slot != &plugin_unattached;
}

static void on_syscall(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2, uint64_t a3,
		       uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	struct plugin_syscall call = {number, {a1, a2, a3, a4, a5, a6}};

	(void)id;
	(void)a7;
	(void)a8;
	if (is_traced(vcpu))
		plugin_syscall_enter(vcpu, &call);
	plugin_fork_syscall(&call);
}

static void on_syscall_return(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t result)
{
	(void)id;
	plugin_fork_return(result);
	if (is_traced(vcpu))
		plugin_syscall_return(vcpu, number, result);
}

/* ---- start ---------------------------------------------------------------------------------- */

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "ptl-record: QEMU plugin: %s: %s\n", what, why);
	return -1;
}

static bool is_usable(const struct qemu_channel_header *header, uint64_t size)
{
	const struct qemu_channel_config *config = &header->config;

	return header->magic == QEMU_CHANNEL_MAGIC && header->version == QEMU_CHANNEL_VERSION && config->slot_count &&
	       config->slot_count <= 65536 && config->pt_ring_size >= 65536 && config->message_ring_size >= 65536 &&
	       qemu_channel_arena_size(config) <= size;
}

static int map_arena(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct stat status;

	if (fd < 0)
		return fail(path, strerror(errno));
	if (fstat(fd, &status) || (uint64_t)status.st_size < QEMU_CHANNEL_HEADER_SIZE) {
		close(fd);
		return fail(path, "no arena");
	}

	void *arena = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	close(fd);
	if (arena == MAP_FAILED)
		return fail(path, strerror(errno));
	plugin.arena = arena;
	plugin.header = arena;
	if (!is_usable(plugin.header, (uint64_t)status.st_size))
		return fail(path, "not an arena of this version of PTL");
	plugin.config = plugin.header->config;
	return 0;
}

/* An argument "name=value"; NULL if it has another name. */
static const char *value_of(const char *argument, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(argument, name, length) && argument[length] == '=' ? argument + length + 1 : NULL;
}

static int read_arguments(int argc, char **argv, const char **arena)
{
	for (int i = 0; i < argc; i++) {
		const char *value;

		if ((value = value_of(argv[i], "arena")))
			*arena = value;
		else if ((value = value_of(argv[i], "program")))
			plugin.first_argument = atoi(value);
		else if ((value = value_of(argv[i], "script")))
			plugin.script_argument = atoi(value);
		else if ((value = value_of(argv[i], "process")))
			plugin.process = (uint32_t)strtoul(value, NULL, 10);
		else if ((value = value_of(argv[i], "slot")))
			plugin.continue_slot = strtoll(value, NULL, 10);
		else if ((value = value_of(argv[i], "time")))
			plugin.continue_time = strtoull(value, NULL, 10);
		else if ((value = value_of(argv[i], "epoch")))
			plugin.epoch = strtoull(value, NULL, 10);
		else
			return fail(argv[i], "no such argument");
	}
	if (!*arena || !plugin.first_argument)
		return fail("arguments", "arena and program are needed");
	return 0;
}

/* The state a process begins with, or goes on with after execve. */
static void begin_process(void)
{
	uint32_t tid;

	plugin_thread_ids(&plugin.pid, &tid);
	plugin.continued = plugin.process != 0;
	if (!plugin.continued) {
		plugin.process = __atomic_add_fetch(&plugin.header->next_process, 1, __ATOMIC_RELAXED);
		plugin.continue_time = plugin.config.virtual_start;
	}
	plugin.psb_time = plugin.continued ? plugin.continue_time : 0;
	plugin.change_time = plugin.psb_time;
	for (uint32_t i = 0; i < PLUGIN_VCPU_MAX; i++)
		plugin.vcpus[i].slot = plugin_slots[i] = &plugin_unattached;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_plugin_info *info, int argc, char **argv)
{
	const char *arena = NULL;

	if (strcmp(info->target_name, "x86_64") || info->system_emulation)
		return fail(info->target_name, "this plugin is for qemu-x86_64 user mode");
	if (read_arguments(argc, argv, &arena) || map_arena(arena))
		return -1;
	begin_process();
	if (plugin_fork_start() || plugin_thread_watch_fork())
		return fail("fork", "no memory");
	plugin_hook_install();
	qemu_plugin_register_vcpu_init_cb(id, on_vcpu_init);
	qemu_plugin_register_vcpu_exit_cb(id, on_vcpu_exit);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	qemu_plugin_register_vcpu_syscall_cb(id, on_syscall);
	qemu_plugin_register_vcpu_syscall_ret_cb(id, on_syscall_return);
	return 0;
}
