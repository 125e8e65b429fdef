/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The call trees of threads as rows that are opened and closed. Nothing is made of rows that are not looked at: the way from
 * one to the next is in the records of the trees, which may be many millions in a file.
 */
#ifndef DUMP_BROWSE_CALL_ROWS_H
#define DUMP_BROWSE_CALL_ROWS_H

#include "common/hash_map.h"
#include "dump/call/call_tree.h"

/* A thread's calls, or those of one of the programs it ran. */
struct dump_browse_thread {
	struct dump_record_list list;   /* owned; in order, as dump/call/call_tree.h says */
	struct dump_call_record *below; /* outermost frames that were found last, the outermost first; owned */
	size_t below_count;
	uint32_t *belows; /* how many each stack has; owned */
	size_t belows_count;
	uint32_t process, pid, tid, cpu;
	const struct flow_program *program; /* NULL: not known */
};

/* Zero-initialised has no rows. */
struct dump_browse_calls {
	struct dump_browse_thread *threads; /* owned */
	size_t count, capacity;
	size_t in_memory; /* bytes of lists that are in no file */
	struct common_hash_map open;
	struct common_hash_map siblings; /* by parent: a struct siblings */
};

/* A row: of a thread, or of a record of it. */
typedef uint64_t dump_browse_row;

/* What a row is of: record is NULL for a thread's own row; level is 0 for that, and from 1 on for calls. */
struct dump_browse_place {
	const struct dump_browse_thread *thread;
	const struct dump_call_record *record;
	size_t level;
	bool has_children;
	bool open;
};

/* Takes the records of a thread from the tree, which is empty then. PTL_NO_MEMORY, PTL_SYSTEM. */
int dump_browse_calls_take(struct dump_browse_calls *calls, struct dump_call_tree *tree,
			   const struct dump_call_thread *thread);
void dump_browse_calls_free(struct dump_browse_calls *calls);

/* The first row; false where there is none. */
bool dump_browse_calls_first(const struct dump_browse_calls *calls, dump_browse_row *row);
/* The rows around one that is shown; false at the ends. */
bool dump_browse_calls_next(const struct dump_browse_calls *calls, dump_browse_row *row);
bool dump_browse_calls_previous(struct dump_browse_calls *calls, dump_browse_row *row);
/* The row that it lies in; false for a thread's. */
bool dump_browse_calls_parent(struct dump_browse_calls *calls, dump_browse_row *row);
void dump_browse_calls_place(const struct dump_browse_calls *calls, dump_browse_row row,
			     struct dump_browse_place *place);

/* Opens a row with children and, as long as there is one child only, that too. */
void dump_browse_calls_open(struct dump_browse_calls *calls, dump_browse_row row);
void dump_browse_calls_close(struct dump_browse_calls *calls, dump_browse_row row);
/* The child that took the most time or, without times, instructions; false where there are none. It is opened to. */
bool dump_browse_calls_costliest(struct dump_browse_calls *calls, dump_browse_row *row);

/*
 * The next record behind (or before) a row that matches, whether it is shown or not, with all that it lies in opened. False:
 * there is none.
 */
bool dump_browse_calls_search(struct dump_browse_calls *calls, dump_browse_row *row, bool back,
			      bool (*matches)(void *context, const struct dump_call_record *record), void *context);

#endif
