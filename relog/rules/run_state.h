/* SPDX-License-Identifier: BSD-2-Clause */
/* What the parts of a run share. */
#ifndef RELOG_RULES_RUN_STATE_H
#define RELOG_RULES_RUN_STATE_H

#include <ptl/kernel.h>
#include <ptl/state.h>

#include "common/hash_map.h"
#include "format/event/kernel_class.h"
#include "query/evaluate.h"
#include "query/payload.h"
#include "relog/rules/run.h"

/* A rule that may match events of one kind. */
struct rules_bound {
	const struct rules_rule *rule;
	struct query_location *fields;
	/* What adding and deleting makes of the schema's fields; NULL until it is needed. */
	struct ptl_field *new_fields;
	size_t new_count;
	size_t *new_index; /* by old index: the new one, or SIZE_MAX */
};

/* All events of one descriptor and trace, those that are raw apart. */
struct rules_kind {
	struct ptl_descriptor descriptor;
	struct ptl_trace *trace;
	bool raw;                        /* ptl_event_is_raw */
	const struct ptl_schema *schema; /* NULL: there is none */
	enum format_class class;         /* FORMAT_CLASS_NONE for a context switch, too */
	struct rules_bound *bound;       /* in the order of the rules */
	size_t bound_count;
	struct common_arena arena;
};

/* The event that is being looked at, as it is now. */
struct rules_current {
	struct ptl_event event;
	struct rules_kind *kind;
	bool changed;
	bool dropped;
	bool own_payload;             /* it is in the scratch arena, and may be written to */
	struct query_payload payload; /* its fields, once they are asked for */
	bool pending;                 /* a loop has changed values that the payload does not have yet */
	unsigned looping;             /* `for` loops around */
	struct query_loops loops;
	const struct rules_bound *bound; /* of the rule that is applied */
	uint32_t pid;                    /* of the process that it reports */
	const char *program;             /* of that; NULL until asked for */
};

#define RULES_MEMO 64u
#define RULES_PROGRAMS 64u

/* What a process was found to run, as long as run->folded stays. */
struct rules_program {
	uint32_t pid;
	uint64_t folded;
	const char *text; /* NULL: nothing is known */
};

struct rules_run {
	const struct rules *rules;
	struct rules_output output;
	struct rules_options options;
	struct ptl_trace *const *traces;
	size_t trace_count;
	struct query_files files;
	struct common_arena scratch; /* of the current event */
	struct rules_current now;

	struct rules_kind **kinds;
	size_t kind_count;
	struct common_byte_map kind_map;
	bool forget_kinds; /* there is a new schema: from the next event on */
	struct rules_kind *memo[RULES_MEMO];

	struct rules_schema_made *made; /* schemas of events that were reshaped */
	size_t made_count;
	uint64_t *matches; /* by rule: events for which it was applied */
	uint64_t *counts;  /* by rule: events that matched but for nth */

	bool needs_state;
	struct ptl_state *state;
	uint64_t folded; /* how often what processes run may have become something else */
	uint64_t forked; /* time of the last process event, if that is not over; else 0 */
	struct rules_program programs[RULES_PROGRAMS];
	struct common_arena names; /* of programs, each once: name_map says where */
	struct common_byte_map name_map;
	size_t name_bytes;
	enum { RULES_BOTH, RULES_ONLY_OUTPUT, RULES_ONLY_STATE } only; /* what rules_inject does */
	struct rules_images *images;
};

/* bind.c: the kind of an event. PTL_NO_MEMORY, PTL_CORRUPT. */
int rules_kind_of(struct rules_run *run, struct ptl_trace *trace, const struct ptl_event *event,
		  struct rules_kind **kind);
void rules_kinds_free(struct rules_run *run);
/* Forgets them where they have become too many or out of date; not while one is in use. */
void rules_kinds_limit(struct rules_run *run);
/* The GUID of a provider that is known by its name; PTL_CORRUPT where no trace has it. */
int rules_provider_guid(const struct rules_run *run, const struct rules_provider *provider, struct query_place at,
			struct ptl_guid *guid);

/* current.c */
/* Decodes the payload, once; PTL_NO_MEMORY. A payload that its schema does not fit has fewer values. */
int rules_current_decode(struct rules_run *run);
/* The event is another now: what was known of its payload is not. */
void rules_current_changed(struct rules_run *run);
/* Makes the payload the run's own, to be written to; PTL_NO_MEMORY. */
int rules_current_own(struct rules_run *run, uint8_t **payload);
/* The program of the process that the event reports; "" unknown. */
const char *rules_current_program(struct rules_run *run);
/* Whether that, or the word that it was started by, is like the pattern. */
bool rules_current_ran(struct rules_run *run, const char *pattern);
/* For expressions about the current event. */
struct query_scope rules_current_scope(struct rules_run *run);

/* match.c: whether the rule that `bound` is of applies: 1, 0, or a status. */
int rules_match(struct rules_run *run, const struct rules_bound *bound);
bool rules_in_ranges(const struct rules_ranges *ranges, uint64_t value);
uint64_t rules_moment_time(const struct rules_run *run, const struct rules_moment *moment);

/* schemas.c */
/* The schema of events: the trace's own, the rules', or one that was made; NULL: none. */
const struct ptl_schema *rules_schema_of(const struct rules_run *run, struct ptl_trace *trace,
					 const struct ptl_descriptor *descriptor);
/* Events get this schema: PTL_CORRUPT where they have another; equal ones are written once. */
int rules_schema_made(struct rules_run *run, const struct ptl_schema *schema, struct query_place at);
/* Checks and writes the schemas of the rules. */
int rules_schemas_start(struct rules_run *run);
void rules_schemas_free(struct rules_run *run);

/* make.c: an event from another one. */
int rules_make_process(struct rules_run *run, const struct rules_action *action);
int rules_make_thread(struct rules_run *run, const struct rules_action *action);
/* Injects an event, and tells the state of it: both, unless run->only says that one of them is done apart. */
int rules_inject(struct rules_run *run, const struct ptl_event *event);
/* The state learns of an event. */
int rules_fold(struct rules_run *run, const struct ptl_event *event);

/* images.c, recorded.c: images that rules state. */
int rules_images_new(struct rules_run *run, struct rules_images **images);
void rules_images_free(struct rules_images *images);
/* What is due before an event of this time. */
int rules_images_until(struct rules_run *run, uint64_t time);
/* An event of the kernel's classes is about to pass. *pass = false: it is left out, what replaces it was injected. */
int rules_images_before(struct rules_run *run, const struct ptl_event *event, enum format_class class, bool *pass);
/* It has passed (or its process event was dropped). */
int rules_images_after(struct rules_run *run, const struct ptl_event *event, enum format_class class);
/* image load and unload of a rule. */
int rules_images_load(struct rules_run *run, const struct rules_action *action);
int rules_images_unload(struct rules_run *run, const struct rules_action *action);

#endif
