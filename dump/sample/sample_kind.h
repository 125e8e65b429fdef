/* SPDX-License-Identifier: BSD-2-Clause */
/* Which events are samples: by name, with what each says of itself. */
#ifndef DUMP_SAMPLE_SAMPLE_KIND_H
#define DUMP_SAMPLE_SAMPLE_KIND_H

#include <ptl/reader.h>

#include "common/hash_map.h"
#include "dump/print/event_names.h"

/* What events of one name have in common. */
struct dump_sample_kind {
	char *name;      /* "cpu-clock", "sched/sched_switch"; owned, safe for a terminal */
	char *others[2]; /* by which it may be asked for, too: with its provider, and as its schema has it; owned */
	bool counted;    /* by a counter, as samples of a profile are: it says where it was taken */
	bool wanted;
	uint64_t events;  /* that have a stack, or say where they were taken */
	uint64_t without; /* that do not */
};

/* Set names; zero the rest. */
struct dump_sample_kinds {
	struct dump_names *names;
	const char *pattern;           /* for the names of those that are wanted; NULL: `exact` says that */
	const char *exact;             /* the name of the one that is wanted; NULL: none is */
	struct dump_sample_kind *list; /* owned */
	size_t count, capacity;
	struct common_byte_map by_key; /* index in list, by identity and by the event's own name */
	struct common_hash_map
		schemas; /* by a schema's address: its index in list, or that its events say whose it is */
	struct ptl_bytes key;
};

/* An event that may be counted. */
struct dump_sample {
	uint64_t instruction; /* 0: not known but by the stack */
	uint64_t period;      /* how much of what is counted it stands for; 0: not known */
	bool has_stack;
};

/* 1: it has a stack, or says where it was taken, and is wanted; 0: not so. PTL_NO_MEMORY. */
int dump_sample_read(struct dump_sample_kinds *kinds, const struct ptl_event *event, const struct ptl_schema *schema,
		     struct dump_sample *sample);
void dump_sample_kinds_free(struct dump_sample_kinds *kinds);

/* Adds those that others have counted, which are only listed from now on. PTL_NO_MEMORY. */
int dump_sample_kinds_merge(struct dump_sample_kinds *kinds, struct dump_sample_kinds *others);

/* Appends "cpu-clock (1,234), page-faults (5)", the most frequent first. PTL_NO_MEMORY. */
int dump_sample_kinds_text(const struct dump_sample_kinds *kinds, struct ptl_bytes *text);

/*
 * Where the user named none: the one whose events are counted, or, where none are, the only one. NULL: there is none, or it is not
 * clear.
 */
const struct dump_sample_kind *dump_sample_kinds_choose(const struct dump_sample_kinds *kinds);

#endif
