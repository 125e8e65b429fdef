/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared declarations of a run. */
#ifndef RELOG_RULES_RUN_STATE_H
#define RELOG_RULES_RUN_STATE_H

#include <ptl/kernel.h>
#include <ptl/state.h>

#include "common/hash_map.h"
#include "format/event/kernel_class.h"
#include "query/evaluate.h"
#include "query/payload.h"
#include "relog/rules/run.h"

/* A rule that may match events of a kind. */
struct rules_bound {
	const struct rules_rule *rule;
	struct query_location *fields;
	/* Schema fields after additions and deletions; NULL until needed. */
	struct ptl_field *new_fields;
	size_t new_count;
	size_t *new_index; /* old index: new index, or SIZE_MAX if deleted */
};

/* All events with the same descriptor and trace. Raw events are a separate kind. */
struct rules_kind {
	struct ptl_descriptor descriptor;
	struct ptl_trace *trace;
	bool raw;                        /* ptl_event_is_raw */
	const struct ptl_schema *schema; /* NULL: no schema */
	enum format_class class;         /* FORMAT_CLASS_NONE also for context switches */
	struct rules_bound *bound;       /* in order of the rules */
	size_t bound_count;
	struct common_arena arena;
};

/* The current event, with the changes made so far. */
struct rules_current {
	struct ptl_event event;
	struct rules_kind *kind;
	bool changed;
	bool dropped;
	bool own_payload;             /* payload is in the scratch arena, and writable */
	struct query_payload payload; /* decoded fields; decoded on demand */
	bool pending;                 /* a loop has changed values that are not encoded into the payload yet */
	unsigned looping;             /* number of enclosing `for` loops */
	struct query_loops loops;
	const struct rules_bound *bound; /* the rule being applied */
	uint32_t pid;                    /* process that the event describes */
	const char *program;             /* program of pid; NULL until asked for */
};

#define RULES_MEMO 64u
#define RULES_PROGRAMS 64u

/* Cached program of a process, valid while run->folded is unchanged. */
struct rules_program {
	uint32_t pid;
	uint64_t folded;
	const char *text; /* NULL: unknown */
};

struct rules_run {
	const struct rules *rules;
	struct rules_output output;
	struct rules_options options;
	struct ptl_trace *const *traces;
	size_t trace_count;
	struct query_files files;
	struct common_arena scratch; /* memory of the current event */
	struct rules_current now;

	struct rules_kind **kinds;
	size_t kind_count;
	struct common_byte_map kind_map;
	bool forget_kinds; /* a schema was added: forget all kinds before the next event */
	struct rules_kind *memo[RULES_MEMO];

	struct rules_schema_made *made; /* schemas of reshaped events */
	size_t made_count;
	uint64_t *matches; /* by rule: events to which the rule was applied */
	uint64_t *counts;  /* by rule: events that matched all conditions except nth */

	bool needs_state;
	struct ptl_state *state;
	uint64_t folded; /* generation: grows whenever a process may run another program */
	uint64_t forked; /* time of the last process event while events still have this time; else 0 */
	struct rules_program programs[RULES_PROGRAMS];
	struct common_arena names; /* program names, each stored once; name_map finds a name */
	struct common_byte_map name_map;
	size_t name_bytes;
	enum { RULES_BOTH, RULES_ONLY_OUTPUT, RULES_ONLY_STATE } only; /* targets of rules_inject */
	struct rules_images *images;
};

/* bind.c: returns the kind of an event. Returns PTL_NO_MEMORY, PTL_CORRUPT. */
int rules_kind_of(struct rules_run *run, struct ptl_trace *trace, const struct ptl_event *event,
		  struct rules_kind **kind);
void rules_kinds_free(struct rules_run *run);
/* Forgets all kinds if there are too many, or a schema was added. Must not be called while a kind is used. */
void rules_kinds_limit(struct rules_run *run);
/* Finds the GUID of a provider given by name. Returns PTL_CORRUPT if no trace has the provider. */
int rules_provider_guid(const struct rules_run *run, const struct rules_provider *provider, struct query_place at,
			struct ptl_guid *guid);

/* current.c */
/*
 * Decodes the payload, if not decoded yet. A payload that does not fit its schema has fewer values. Returns
 * PTL_NO_MEMORY.
 */
int rules_current_decode(struct rules_run *run);
/* Forgets the decoded payload after a change of the event. */
void rules_current_changed(struct rules_run *run);
/* Copies the payload to writable memory of the run, if not done yet. Returns PTL_NO_MEMORY. */
int rules_current_own(struct rules_run *run, uint8_t **payload);
/* Returns the program of the process that the event is about; "" if unknown. */
const char *rules_current_program(struct rules_run *run);
/* Whether the pattern matches the program, or the first word of its command line. */
bool rules_current_ran(struct rules_run *run, const char *pattern);
/* Returns the scope of expressions about the current event. */
struct query_scope rules_current_scope(struct rules_run *run);

/* match.c: returns 1 if the rule of `bound` matches the current event, 0 if not, or an error. */
int rules_match(struct rules_run *run, const struct rules_bound *bound);
bool rules_in_ranges(const struct rules_ranges *ranges, uint64_t value);
uint64_t rules_moment_time(const struct rules_run *run, const struct rules_moment *moment);

/* schemas.c */
/* Returns the schema of events: of the trace, of the rules, or of reshaped events. NULL: no schema. */
const struct ptl_schema *rules_schema_of(const struct rules_run *run, struct ptl_trace *trace,
					 const struct ptl_descriptor *descriptor);
/*
 * Registers and writes the schema of reshaped events. An equal schema is written once. Returns PTL_CORRUPT if the
 * events have a different schema.
 */
int rules_schema_made(struct rules_run *run, const struct ptl_schema *schema, struct query_place at);
/*
 * An event with the schema `old` got another provider, id, version or opcode, those of descriptor. If the new number has no
 * schema, the number gets a copy of `old`, and another provider copies of the maps. Returns as rules_schema_made.
 */
int rules_schema_renumbered(struct rules_run *run, struct ptl_trace *trace, const struct ptl_schema *old,
			    const struct ptl_descriptor *descriptor, struct query_place at);
/* Checks and writes the schemas of the rules. */
int rules_schemas_start(struct rules_run *run);
void rules_schemas_free(struct rules_run *run);

/* make.c: makes events of rules */
int rules_make_process(struct rules_run *run, const struct rules_action *action);
int rules_make_thread(struct rules_run *run, const struct rules_action *action);
/* Injects an event: into the output and the state, unless run->only restricts the target. */
int rules_inject(struct rules_run *run, const struct ptl_event *event);
/* Updates the state with an event. */
int rules_fold(struct rules_run *run, const struct ptl_event *event);

/* images.c, recorded.c: images of rules */
int rules_images_new(struct rules_run *run, struct rules_images **images);
void rules_images_free(struct rules_images *images);
/* Performs scheduled actions up to this time. */
int rules_images_until(struct rules_run *run, uint64_t time);
/* Call before an event of the kernel's classes passes. *pass = false: drop the event; its replacement was injected. */
int rules_images_before(struct rules_run *run, const struct ptl_event *event, enum format_class class, bool *pass);
/* Call after the event has passed, or after a process event was dropped. */
int rules_images_after(struct rules_run *run, const struct ptl_event *event, enum format_class class);
/* Perform the actions "image load" and "image unload" of a rule. */
int rules_images_load(struct rules_run *run, const struct rules_action *action);
int rules_images_unload(struct rules_run *run, const struct rules_action *action);

#endif
