/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes samples of groups of blocks, as perf does. */
#include <string.h>

#include "common/error.h"
#include "import/perf/import.h"
#include "import/perf/pebs.h"

#define COUNTERS 64
#define WORDS_MAX 64 /* registers of a mask */
#define BRANCHES_MAX 30
#define FIRST_VECTOR 32 /* bit of the first half of XMM0 in a register mask */

/* Bits of PERF_REG_X86_* by item: flags, ip, ax, cx, dx, bx, sp, bp, si, di, r8 to r15. */
static const uint8_t register_bits[] = {9, 8, 0, 2, 3, 1, 7, 6, 4, 5, 16, 17, 18, 19, 20, 21, 22, 23};

#define REGISTERS (sizeof(register_bits) / sizeof(register_bits[0]))

static bool has_item(const struct perf_pebs_group *group, enum perf_pebs_block block, unsigned item)
{
	return group->present[block] >> item & 1;
}

/* Returns an item; 0 if the group lacks the item. */
static uint64_t item_of(const struct perf_pebs_group *group, enum perf_pebs_block block, unsigned item)
{
	return has_item(group, block, item) ? group->items[block][item] : 0;
}

/* Registers in the order of the mask's bits. */
static void put_registers(const struct perf_pebs_group *group, uint64_t wanted, uint8_t *words,
			  struct perf_registers *registers)
{
	uint64_t values[WORDS_MAX] = {0};
	size_t count = 0;

	for (size_t i = 0; i < REGISTERS; i++) {
		values[register_bits[i]] = group->items[PERF_PEBS_REGISTERS][i];
		if (has_item(group, PERF_PEBS_REGISTERS, (unsigned)i))
			registers->mask |= 1ull << register_bits[i];
	}
	for (unsigned i = 0; i < PERF_PEBS_ITEMS; i++)
		values[FIRST_VECTOR + i] = group->items[PERF_PEBS_VECTORS][i];
	registers->mask |= (uint64_t)group->present[PERF_PEBS_VECTORS] << FIRST_VECTOR;
	registers->mask &= wanted;
	for (size_t bit = 0; bit < WORDS_MAX; bit++)
		if (registers->mask >> bit & 1)
			common_store64(words + 8 * count++, values[bit]);
	registers->abi = registers->mask ? group->is_32_bit ? PERF_REGS_ABI_32 : PERF_REGS_ABI_64 : 0;
	registers->words = (struct perf_words){words, count};
}

/* Converts bits of IA32_LBR_x_INFO to perf_branch_entry. */
static uint64_t branch_flags(uint64_t info)
{
	const uint64_t mispredicted = info >> 63 & 1, in_transaction = info >> 62 & 1, aborted = info >> 61 & 1;

	return mispredicted | !mispredicted << 1 | in_transaction << 2 | aborted << 3 | (info & 0xffff) << 4;
}

static void put_branches(const struct perf_pebs_group *group, uint8_t *words, struct perf_words *branches)
{
	size_t count = 0;

	for (enum perf_pebs_block block = PERF_PEBS_BRANCHES_0; block <= PERF_PEBS_BRANCHES_2; block++)
		for (unsigned item = 0; item + 2 < PERF_PEBS_ITEMS; item += 3) {
			if (!(group->present[block] >> item & 7))
				continue;
			common_store64(words + 24 * count, group->items[block][item]);
			common_store64(words + 24 * count + 8, group->items[block][item + 1]);
			common_store64(words + 24 * count + 16, branch_flags(group->items[block][item + 2]));
			count++;
		}
	*branches = (struct perf_words){words, count};
}

/* The thread of a CPU's ring is the thread that runs on the CPU now. */
static void find_thread(const struct perf_import *import, const struct perf_pebs_group *group,
			struct perf_sample *sample)
{
	const uint64_t *running = common_hash_map_get(&import->on_cpu, group->cpu);

	sample->cpu = group->cpu;
	sample->tid = group->tid;
	if (group->tid == PTL_NO_ID && running)
		sample->tid = (uint32_t)*running;
	sample->pid = sample->tid == PTL_NO_ID ? PTL_NO_ID : perf_thread_process(import, sample->tid);
}

static int write_sample(struct perf_import *import, const struct perf_pebs_group *group, const struct perf_attr *attr,
			uint64_t id)
{
	uint8_t registers[8 * WORDS_MAX], branches[24 * BRANCHES_MAX];
	const uint64_t type = attr->sample_type;
	struct perf_sample sample = {.attr = attr,
				     .id = id,
				     .has_time = group->time != 0,
				     .time = group->time,
				     .has_ip = true,
				     .period = attr->sample_period,
				     .guest = group->guest,
				     .user = true};

	sample.ip = has_item(group, PERF_PEBS_BASIC, PERF_PEBS_BASIC_IP)
			    ? item_of(group, PERF_PEBS_BASIC, PERF_PEBS_BASIC_IP)
			    : item_of(group, PERF_PEBS_REGISTERS, 1);
	sample.user = !(sample.ip >> 63);
	find_thread(import, group, &sample);
	if (type & PERF_SAMPLE_ADDR)
		sample.address = item_of(group, PERF_PEBS_MEMORY, 0);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT))
		sample.weight = item_of(group, PERF_PEBS_MEMORY, 2);
	if (type & PERF_SAMPLE_TRANSACTION)
		sample.transaction = item_of(group, PERF_PEBS_MEMORY, 3) >> 32;
	if (type & PERF_SAMPLE_REGS_INTR)
		put_registers(group, attr->interrupt_registers, registers, &sample.interrupt_registers);
	if (type & PERF_SAMPLE_BRANCH_STACK)
		put_branches(group, branches, &sample.branches);
	return perf_event_sample(import, &sample);
}

/* ---- the event of a counter ------------------------------------------------------------------ */

static uint64_t counter_key(uint32_t cpu, uint64_t counter)
{
	return (uint64_t)cpu * COUNTERS + counter;
}

int perf_pebs_counter(struct perf_import *import, uint64_t counter, const struct perf_sample *sample)
{
	int status;

	if (counter >= COUNTERS)
		return 0;
	status = common_hash_map_put(&import->pebs_counters, counter_key(sample->cpu, counter), sample->id);
	/* A thread's ring has records of all CPUs. */
	return status ? status
		      : common_hash_map_put(&import->pebs_counters, counter_key(PTL_NO_CPU, counter), sample->id);
}

/* Returns the first event with aux-output; NULL: none. */
static const struct perf_attr *first_event(const struct perf_attrs *attrs)
{
	for (size_t i = 0; i < attrs->count; i++)
		if (attrs->list[i].flags & PERF_ATTR_FLAG_AUX_OUTPUT)
			return &attrs->list[i];
	return NULL;
}

/* Finds the event that counts on a counter; else the first event that may. */
static const struct perf_attr *find_event(const struct perf_import *import, uint32_t cpu, uint64_t counter,
					  uint64_t *id)
{
	const uint64_t *known = common_hash_map_get(&import->pebs_counters, counter_key(cpu, counter));
	const struct perf_attr *attr = known ? perf_attrs_find(&import->attrs, *known) : NULL;

	*id = attr ? *known : 0;
	return attr ? attr : first_event(&import->attrs);
}

int perf_pebs_write(struct perf_import *import, const struct perf_pebs_group *group)
{
	uint64_t counters = item_of(group, PERF_PEBS_BASIC, PERF_PEBS_BASIC_COUNTERS), id;
	int status = 0;

	/* Without counters, the sample is of the only event. */
	for (uint64_t counter = 0; !status && counter < COUNTERS; counter++) {
		if (counters ? !(counters >> counter & 1) : counter > 0)
			continue;
		const struct perf_attr *attr = find_event(import, group->cpu, counter, &id);

		if (attr)
			status = write_sample(import, group, attr, id);
	}
	return status;
}
