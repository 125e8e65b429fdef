/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of code made at run time, for the timeline; read by flow/symbol/made_code.h. A compiler reuses memory, so an
 * address may have several functions, one after another. A layer has functions that do not overlap. Layer 0 is valid
 * from the beginning. A function of a higher layer hides lower functions from the function's start on.
 */
#ifndef FLOW_TIMELINE_MADE_NAMES_H
#define FLOW_TIMELINE_MADE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include <ptl/symbols.h>

#include "common/hash_map.h"
#include "elf/jitdump.h"

/* Functions without overlap, sorted by the order of code generation. */
struct flow_made_layer {
	struct ptl_symbol *symbols;
	size_t count;
	struct elf_line *lines;
	size_t line_count;
};

/* A change of names: from `time` on, addresses have the names of a layer. */
struct flow_made_change {
	uint64_t time;
	uint64_t first, last; /* addresses, both inclusive */
	uint32_t layer;
	uint32_t names; /* index in the set */
	size_t order;   /* number of the function in the order of code generation */
};

/* The functions of a process. */
struct flow_made_names {
	uint32_t pid;
	struct flow_made_layer *layers; /* at least one */
	size_t layer_count;
	uint32_t now; /* while the timeline is built: tree of the current layers above 0, by address */
};

/* Zero-initialised: a trace without such names. */
struct flow_made_set {
	struct flow_made_names *list;
	size_t count;
	struct flow_made_names any;    /* names for processes without own names; without layers: no such names */
	struct common_hash_map by_pid; /* index in list */
	struct flow_made_change *changes;
	size_t change_count, change_capacity;
	size_t next;       /* while the timeline is built: index of the next change */
	size_t replaced;   /* number of functions replaced by later functions at an unknown time */
	size_t unreadable; /* number of damaged files; the entries before the damage are used */
	void *owner;       /* owner of the strings; may be NULL */
	void (*free_owner)(void *owner);
};

void flow_made_free(struct flow_made_set *set);
/* Moves the names to a new timeline. */
void flow_made_move(struct flow_made_set *from, struct flow_made_set *to);
/* Returns a layer of a process's names, or NULL. */
const struct flow_made_layer *flow_made_find(const struct flow_made_set *set, uint32_t pid, uint32_t layer);

#endif
