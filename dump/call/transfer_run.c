/* SPDX-License-Identifier: BSD-2-Clause */
/* Remembers what runs have of transfers, up to some memory. */
#include "dump/call/transfer_run.h"

#include <stdlib.h>
#include <string.h>

#include "common/error.h"

#define SLOTS ((size_t)1 << DUMP_TRANSFER_RUNS_SHIFT)
#define USED_MAX (SLOTS / 4 * 3)
#define LIST_MAX ((size_t)1 << 17)
#define MORE_MAX USED_MAX

void dump_transfer_runs_free(struct dump_transfer_runs *runs)
{
	free(runs->slots);
	free(runs->met);
	free(runs->used);
	free(runs->list);
	free(runs->more);
	dump_transfers_free(&runs->draft);
	*runs = (struct dump_transfer_runs){0};
}

/* Not cleared but for the slots: most of it is seldom needed. */
static int make_slots(struct dump_transfer_runs *runs)
{
	runs->slots = calloc(SLOTS, sizeof(*runs->slots));
	runs->met = calloc(SLOTS, sizeof(*runs->met));
	runs->used = malloc(USED_MAX * sizeof(*runs->used));
	runs->list = malloc(LIST_MAX * sizeof(*runs->list));
	runs->more = malloc((MORE_MAX + 1) * sizeof(*runs->more));
	if (runs->slots && runs->met && runs->used && runs->list && runs->more)
		return 0;
	dump_transfer_runs_free(runs);
	return common_fail_memory("calls within runs", LIST_MAX * sizeof(*runs->list));
}

static void forget_all(struct dump_transfer_runs *runs)
{
	for (size_t i = 0; i < runs->used_count; i++)
		runs->slots[runs->used[i]].run = NULL;
	runs->used_count = 0;
	runs->list_count = 0;
	runs->more_count = 0;
}

int dump_transfer_runs_begin(struct dump_transfer_runs *runs, uint64_t generation, uint32_t process)
{
	const int status = runs->slots ? 0 : make_slots(runs);

	if (runs->generation != generation || runs->process != process)
		forget_all(runs);
	runs->generation = generation;
	runs->process = process;
	return status;
}

void dump_transfer_runs_make_room(struct dump_transfer_runs *runs, size_t count)
{
	if (runs->used_count == USED_MAX || runs->list_count + count > LIST_MAX)
		forget_all(runs);
}

const struct dump_transfer_run *dump_transfer_runs_add(struct dump_transfer_runs *runs, struct dump_transfer_run known,
						       const struct dump_transfer_run_more *more)
{
	const struct dump_transfers *draft = &runs->draft;
	struct dump_transfer_run *slot = dump_transfer_run_find(runs, known.run);

	runs->used[runs->used_count++] = (uint32_t)(slot - runs->slots);
	if (more) {
		struct dump_transfer_run_more *place = &runs->more[++runs->more_count];

		known.more = (uint32_t)runs->more_count;
		*place = *more;
		place->transfers = (uint32_t)runs->list_count;
		place->count = (uint32_t)draft->count;
		if (draft->count)
			memcpy(runs->list + runs->list_count, draft->list, draft->count * sizeof(*draft->list));
		runs->list_count += draft->count;
	}
	*slot = known;
	return slot;
}
