/* SPDX-License-Identifier: BSD-2-Clause */
#include "relog/rules/ptwrite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ptl/provider.h>

#include "common/error.h"
#include "common/hash_map.h"
#include "common/memory_budget.h"
#include "common/shift_time.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "flow/view/view.h"
#include "query/function_near.h"
#include "relog/rules/sites.h"

#define NAMED (1ull << 63) /* in rules_ptwrites.places: note_function has seen the instruction */

/* A PTWRITE packet in the flow of a segment. */
struct operand {
	uint64_t value, time, address;
	uint8_t bytes;
	bool has_address;
};

/* The packets of a segment: a partial result of the view. */
struct operands {
	struct operand *list;
	size_t count, capacity;
};

/* Thread, CPU, input and rule of events. The structure has no padding, because its bytes are a key of a map. */
struct source {
	uint32_t pid, tid, cpu; /* of the output */
	uint32_t input;
	uint32_t rule;
};

/* An event to inject. A trace may have millions. */
struct made {
	uint64_t time; /* of the output's clock */
	uint64_t value;
	uint32_t order; /* number in the order of the flow; 32 bits suffice, as memory bounds the number */
	uint32_t source;
};

/* A site of a statement. */
struct site {
	const struct rules_site *site;
	bool reached; /* a PTWRITE was executed there */
	enum rules_site_finding finding;
	char near[QUERY_NAMES_MAX * (QUERY_NAME_SIZE + 8) + 64];
};

struct rule {
	const struct rules_ptwrite *ptwrite;
	struct rules_ptwrite_counts counts;
	size_t first_site;
	const char *function; /* function of all events so far; NULL: no event */
};

struct rules_ptwrites {
	struct rules *rules;
	struct rule *list;
	size_t count;
	struct site *sites;
	size_t site_count;
	struct rules_ptwrite_counts counts; /* unnamed, unlocated */
	struct made *made;                  /* ordered by time */
	size_t made_count, made_capacity;
	size_t next; /* index of the next event to inject */
	struct source *sources;
	size_t source_count, source_capacity;
	struct common_byte_map source_numbers; /* by the bytes of a source */
	struct common_memory_budget memory_budget;
	/* While an input is read: */
	struct ptl_relogger_input *input;
	uint32_t input_number;
	struct ptl_relogger_input_info info;
	struct rules_code_names names;
	/* by image and address of the instruction: index of the rule, or `count` for no rule; may have NAMED */
	struct common_byte_map places;
	size_t group;
	uint64_t group_time; /* last known time of the group */
};

static struct ptl_descriptor descriptor_of(const struct rules_ptwrite *ptwrite)
{
	return (struct ptl_descriptor){
		.provider = ptwrite->schema->provider->guid,
		.id = ptwrite->schema->schema.id,
		.version = ptwrite->schema->schema.version,
		.opcode = ptwrite->schema->schema.opcode,
		.level = PTL_LEVEL_INFORMATIONAL,
	};
}

/* ---- packets of the flow ----------------------------------------------------------------- */

static int begin_segment(void *context, const struct flow_segment *segment, void **partial)
{
	(void)context;
	(void)segment;
	*partial = calloc(1, sizeof(struct operands));
	return *partial ? 0 : common_fail_memory("PTWRITE packets", sizeof(struct operands));
}

static void drop_segment(void *context, void *partial)
{
	struct operands *operands = partial;

	(void)context;
	free(operands->list);
	free(operands);
}

static int read_batch(void *context, void *partial, const struct flow_segment *segment, const struct flow_batch *batch)
{
	struct operands *operands = partial;

	(void)context;
	(void)segment;
	for (size_t i = 0; i < batch->event_count; i++) {
		const struct flow_event *event = &batch->events[i];

		if (event->kind != FLOW_PTWRITE)
			continue;
		if (COMMON_VECTOR_RESERVE(operands->list, operands->capacity, operands->count + 1, "PTWRITE packets"))
			return PTL_NO_MEMORY;
		operands->list[operands->count++] = (struct operand){
			.value = event->value,
			.time = event->time,
			.address = event->from,
			.bytes = event->type,
			.has_address = (event->flags & FLOW_EVENT_HAS_FROM) != 0,
		};
	}
	return 0;
}

/* ---- packets of rules -------------------------------------------------------------------- */

/* Returns the index of the first rule with a site at the instruction; ptwrites->count: none. */
static size_t find_rule(struct rules_ptwrites *ptwrites, const struct rules_instruction *instruction)
{
	size_t found = ptwrites->count;

	for (size_t i = 0; i < ptwrites->site_count; i++) {
		size_t rule = ptwrites->count - 1;

		if (!rules_site_has(&ptwrites->names, ptwrites->sites[i].site, instruction))
			continue;
		while (ptwrites->list[rule].first_site > i)
			rule--;
		if (found == ptwrites->count || found == rule)
			ptwrites->sites[i].reached = true;
		else
			ptwrites->sites[i].finding = RULES_SITE_TAKEN;
		found = found == ptwrites->count ? rule : found;
	}
	return found;
}

/*
 * Returns the value of the instruction in `places`; NULL without memory. A loop executes the same instruction many times,
 * and find_rule is slow.
 */
static uint64_t *find_place(struct rules_ptwrites *ptwrites, const struct rules_instruction *instruction)
{
	const uint64_t key[] = {instruction->image, instruction->address};
	uint64_t *place = common_byte_map_get(&ptwrites->places, key, sizeof(key));

	if (place || common_byte_map_put(&ptwrites->places, key, sizeof(key), find_rule(ptwrites, instruction)))
		return place;
	return common_byte_map_get(&ptwrites->places, key, sizeof(key));
}

/* Keeps the function of the rule's events. Events of several functions have no function. */
static int note_function(struct rules_ptwrites *ptwrites, struct rule *rule,
			 const struct rules_instruction *instruction)
{
	struct ptl_bytes name = {0};
	const char *text;

	rules_function_of(&ptwrites->names, instruction, &name);
	text = common_text_string(&name);
	if (!rule->function)
		rule->function = common_arena_copy(&ptwrites->rules->arena, text, strlen(text));
	else if (strcmp(rule->function, text) != 0)
		rule->function = "";
	common_bytes_free(&name);
	return rule->function ? 0 : PTL_NO_MEMORY;
}

/*
 * Whether the operand has the fields: not fewer bytes than the fields, and behind the fields only the zeros or copies of
 * the sign that a compiler extends a small number by.
 */
static bool fits(const struct rules_ptwrite *ptwrite, const struct operand *operand)
{
	const unsigned bits = 8 * ptwrite->size, all = 8 * operand->bytes;
	uint64_t rest, ones;

	if (bits >= all)
		return bits == all;
	rest = operand->value >> bits;
	ones = (UINT64_MAX >> (64 - all)) >> bits;
	return !rest || (rest == ones && operand->value >> (bits - 1) & 1);
}

/* Finds or adds the source of the segment's events of a rule. */
static int find_source(struct rules_ptwrites *ptwrites, const struct flow_segment *segment, size_t rule,
		       uint32_t *number)
{
	struct source source = {
		.pid = segment->pid,
		.tid = segment->tid,
		.cpu = segment->cpu,
		.input = ptwrites->input_number,
		.rule = (uint32_t)rule,
	};
	const uint64_t *known;
	int status = ptl_relogger_map_id(ptwrites->input, &source.pid);

	if (!status)
		status = ptl_relogger_map_id(ptwrites->input, &source.tid);
	if (!status)
		status = ptl_relogger_map_id(ptwrites->input, &source.cpu);
	if (status < 0)
		return status;
	known = common_byte_map_get(&ptwrites->source_numbers, &source, sizeof(source));
	*number = known ? (uint32_t)*known : (uint32_t)ptwrites->source_count;
	if (known)
		return 0;
	if (COMMON_VECTOR_RESERVE(ptwrites->sources, ptwrites->source_capacity, ptwrites->source_count + 1,
				  "threads with PTWRITE packets"))
		return PTL_NO_MEMORY;
	ptwrites->sources[ptwrites->source_count++] = source;
	return common_byte_map_put(&ptwrites->source_numbers, &source, sizeof(source), *number);
}

static int add_made(struct rules_ptwrites *ptwrites, const struct flow_segment *segment, const struct operand *operand,
		    size_t rule)
{
	struct made made = {
		.time = common_shift_time(operand->time ? operand->time : ptwrites->group_time,
					  ptwrites->info.time_shift),
		.value = operand->value,
		.order = (uint32_t)ptwrites->made_count,
	};
	/* The array may be half empty. */
	int status = common_memory_budget_take(&ptwrites->memory_budget, 2 * sizeof(made), "PTWRITE packets of rules",
					       ptwrites->made_count + 1);

	if (!status)
		status = find_source(ptwrites, segment, rule, &made.source);
	if (status < 0)
		return status;
	if (ptwrites->made_count == UINT32_MAX ||
	    COMMON_VECTOR_RESERVE(ptwrites->made, ptwrites->made_capacity, ptwrites->made_count + 1,
				  "PTWRITE packets of rules"))
		return common_fail_memory("PTWRITE packets of rules", ptwrites->made_count * sizeof(made));
	ptwrites->list[rule].counts.made++;
	ptwrites->list[rule].counts.untimed += !operand->time;
	ptwrites->made[ptwrites->made_count++] = made;
	return 0;
}

static int take_operand(struct rules_ptwrites *ptwrites, const struct flow_segment *segment,
			const struct operand *operand)
{
	struct rules_instruction instruction = {FLOW_NONE, operand->address};
	struct flow_place place;
	uint64_t *known;
	size_t rule;

	if (operand->time)
		ptwrites->group_time = operand->time;
	if (!operand->has_address) {
		ptwrites->counts.unlocated++;
		return 0;
	}
	if (segment->process != FLOW_NONE &&
	    flow_timeline_find(ptwrites->names.timeline, segment->process,
			       operand->time ? operand->time : segment->code_time, operand->address, &place))
		instruction.image = place.image;
	known = find_place(ptwrites, &instruction);
	if (!known)
		return PTL_NO_MEMORY;
	rule = (size_t)(*known & ~NAMED);
	if (rule == ptwrites->count) {
		ptwrites->counts.unnamed++;
		return 0;
	}
	if (!fits(ptwrites->list[rule].ptwrite, operand)) {
		ptwrites->list[rule].counts.misfits++;
		return 0;
	}
	if (!(*known & NAMED) && note_function(ptwrites, &ptwrites->list[rule], &instruction))
		return PTL_NO_MEMORY;
	*known |= NAMED;
	return add_made(ptwrites, segment, operand, rule);
}

static int take_segment(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	struct rules_ptwrites *ptwrites = context;
	struct operands *operands = partial;
	int status = 0;

	(void)horizon;
	if (segment->group != ptwrites->group) {
		ptwrites->group = segment->group;
		ptwrites->group_time = ptl_trace_machine(ptl_relogger_input_trace(ptwrites->input))->start_time;
	}
	if (segment->time)
		ptwrites->group_time = segment->time;
	for (size_t i = 0; !status && i < operands->count; i++)
		status = take_operand(ptwrites, segment, &operands->list[i]);
	drop_segment(context, partial);
	return status;
}

/* ---- inputs ------------------------------------------------------------------------------ */

/* Searches the sites that were not reached. The best finding of all inputs counts. */
static void search_sites(struct rules_ptwrites *ptwrites)
{
	for (size_t i = 0; i < ptwrites->site_count; i++) {
		struct site *site = &ptwrites->sites[i];
		struct query_near near = {.text = site->site->kind == RULES_SITE_FUNCTION ? site->site->name : ""};
		enum rules_site_finding finding;

		if (site->reached)
			continue;
		finding = rules_site_search(&ptwrites->names, site->site, &near);
		if (finding > site->finding)
			site->finding = finding;
		if (near.names.count && !*site->near)
			strncpy(site->near, query_near_question(&near), sizeof(site->near) - 1);
	}
}

static int read_input(struct rules_ptwrites *ptwrites, struct ptl_relogger_input *input)
{
	struct ptl_trace *trace = ptl_relogger_input_trace(input);
	const struct flow_view view = {
		.context = ptwrites,
		.begin = begin_segment,
		.consume = read_batch,
		.emit = take_segment,
		.drop = drop_segment,
	};
	const struct flow_view_options options = {.code = &ptwrites->names.code};
	int status = rules_code_names_open(&ptwrites->names, trace);

	ptwrites->input = input;
	ptwrites->group = SIZE_MAX;
	ptl_relogger_input_info(input, &ptwrites->info);
	if (!status)
		status = flow_view_run(trace, ptwrites->names.timeline, &options, &view);
	if (!status)
		search_sites(ptwrites);
	rules_code_names_close(&ptwrites->names);
	common_byte_map_free(&ptwrites->places);
	return status;
}

static int compare_made(const void *a_, const void *b_)
{
	const struct made *a = a_, *b = b_;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Finds the GUID of a provider's name in the traces. */
static bool find_provider(const struct ptl_relogger *relogger, const char *name, struct ptl_guid *guid)
{
	for (size_t i = 0; i < ptl_relogger_input_count(relogger); i++) {
		const struct ptl_trace *trace = ptl_relogger_input_trace(ptl_relogger_input_at(relogger, i));

		for (size_t j = 0; j < ptl_schema_count(trace); j++) {
			const struct ptl_schema *schema = ptl_schema_at(trace, j);

			*guid = schema->provider;
			if (!strcmp(schema->provider_name, name))
				return true;
		}
	}
	return false;
}

/* Sets the GUID of a provider with a name only: the GUID in a schema of the traces, else the GUID made from the name. */
static int settle_provider(struct rules_ptwrites *ptwrites, const struct ptl_relogger *relogger,
			   const struct rules_provider *wanted)
{
	struct rules_provider *provider = ptwrites->rules->providers;
	int status = 0;

	while (provider != wanted)
		provider = provider->next;
	if (provider->has_guid)
		return 0;
	if (!find_provider(relogger, provider->name, &provider->guid))
		status = ptl_guid_from_name(provider->name, &provider->guid);
	provider->has_guid = status == 0;
	return status;
}

int rules_ptwrites_read(struct rules_ptwrites *ptwrites, struct ptl_relogger *relogger)
{
	int status = 0;

	for (size_t i = 0; !status && i < ptwrites->count; i++)
		status = settle_provider(ptwrites, relogger, ptwrites->list[i].ptwrite->schema->provider);
	for (size_t i = 0; !status && i < ptl_relogger_input_count(relogger); i++) {
		ptwrites->input_number = (uint32_t)i;
		status = read_input(ptwrites, ptl_relogger_input_at(relogger, i));
	}
	for (size_t i = 0; i < ptwrites->count; i++)
		if (ptwrites->list[i].function)
			ptwrites->list[i].ptwrite->schema->schema.task_name = ptwrites->list[i].function;
	if (ptwrites->made_count)
		qsort(ptwrites->made, ptwrites->made_count, sizeof(*ptwrites->made), compare_made);
	return status;
}

/* ---- events ------------------------------------------------------------------------------ */

static int inject_event(const struct rules_ptwrites *ptwrites, struct ptl_relogger *relogger, const struct made *made)
{
	const struct source *source = &ptwrites->sources[made->source];
	const struct rules_ptwrite *ptwrite = ptwrites->list[source->rule].ptwrite;
	const struct ptl_descriptor descriptor = descriptor_of(ptwrite);
	struct ptl_trace_event *event;
	uint8_t payload[8];
	int status = ptl_event_new(relogger, ptl_relogger_input_at(relogger, source->input), &event);

	if (status < 0)
		return status;
	common_store_le(payload, made->value, sizeof(payload));
	ptl_event_set_descriptor(event, &descriptor);
	ptl_event_set_pid(event, source->pid);
	ptl_event_set_tid(event, source->tid);
	ptl_event_set_cpu(event, source->cpu);
	ptl_event_set_time(event, made->time);
	status = ptl_event_set_payload(event, payload, ptwrite->size);
	if (!status)
		status = ptl_relogger_inject(relogger, event);
	ptl_event_free(event);
	return status;
}

int rules_ptwrites_inject(struct rules_ptwrites *ptwrites, struct ptl_relogger *relogger, uint64_t time)
{
	int status = 0;

	while (!status && ptwrites->next < ptwrites->made_count &&
	       (time == UINT64_MAX || ptwrites->made[ptwrites->next].time < time))
		status = inject_event(ptwrites, relogger, &ptwrites->made[ptwrites->next++]);
	return status;
}

/* ---- reports ----------------------------------------------------------------------------- */

bool rules_ptwrites_repeated(const struct rules_ptwrites *ptwrites, size_t index, struct ptl_trace *trace)
{
	const struct ptl_descriptor descriptor = descriptor_of(ptwrites->list[index].ptwrite);

	return ptwrites->list[index].counts.made && ptl_schema_find(trace, &descriptor);
}

struct rules_ptwrite_counts rules_ptwrites_counts_of(const struct rules_ptwrites *ptwrites, size_t index)
{
	return ptwrites->list[index].counts;
}

struct rules_ptwrite_counts rules_ptwrites_counts(const struct rules_ptwrites *ptwrites)
{
	struct rules_ptwrite_counts sum = ptwrites->counts;

	for (size_t i = 0; i < ptwrites->count; i++) {
		sum.made += ptwrites->list[i].counts.made;
		sum.misfits += ptwrites->list[i].counts.misfits;
		sum.untimed += ptwrites->list[i].counts.untimed;
	}
	return sum;
}

static void explain(const struct site *site, struct ptl_bytes *text)
{
	const struct rules_site *named = site->site;

	common_text_add(text, "no event of PTWRITE at ");
	common_text_safe(text, named->text);
	common_text_add(text, ": ");
	switch (site->finding) {
	case RULES_SITE_NO_IMAGE:
		common_text_add(text, "no image of the trace has this name");
		break;
	case RULES_SITE_NO_NAME:
		common_text_add(text, named->kind == RULES_SITE_LINE
					      ? "the debug information of the images has no code in this line"
					      : "no image of the trace has a function of this name");
		common_text_add(text, site->near);
		break;
	case RULES_SITE_OUTSIDE:
		common_text_add(text, named->kind == RULES_SITE_FUNCTION ? "the function is smaller"
									 : "the image has no such address");
		break;
	case RULES_SITE_NO_INSTRUCTION:
		common_text_add(text, "the instruction there is no PTWRITE");
		break;
	case RULES_SITE_NOT_EXECUTED:
		common_text_add(text, "the trace has no such packet from there");
		break;
	case RULES_SITE_TAKEN:
		common_text_add(text, "a statement above has the instruction");
		break;
	}
}

int rules_ptwrites_report(const struct rules_ptwrites *ptwrites,
			  int (*report)(void *context, const struct query_place *at, const char *text), void *context)
{
	int status = 0;

	for (size_t i = 0; !status && i < ptwrites->site_count; i++) {
		struct ptl_bytes text = {0};

		if (ptwrites->sites[i].reached)
			continue;
		explain(&ptwrites->sites[i], &text);
		status = report(context, &ptwrites->sites[i].site->at, common_text_string(&text));
		common_bytes_free(&text);
	}
	return status;
}

/* ---- the list of rules ------------------------------------------------------------------- */

int rules_ptwrites_new(struct rules *rules, struct rules_ptwrites **result)
{
	struct rules_ptwrites *ptwrites = calloc(1, sizeof(*ptwrites));
	size_t count = 0, sites = 0;

	if (!ptwrites)
		return common_fail_memory("rules", sizeof(*ptwrites));
	*result = ptwrites;
	ptwrites->rules = rules;
	for (const struct rules_ptwrite *ptwrite = rules->ptwrites; ptwrite; ptwrite = ptwrite->next) {
		count++;
		sites += ptwrite->site_count;
	}
	ptwrites->list = calloc(count + 1, sizeof(*ptwrites->list));
	ptwrites->sites = calloc(sites + 1, sizeof(*ptwrites->sites));
	if (!ptwrites->list || !ptwrites->sites)
		return common_fail_memory("rules", count * sizeof(*ptwrites->list) + sites * sizeof(*ptwrites->sites));
	for (const struct rules_ptwrite *ptwrite = rules->ptwrites; ptwrite; ptwrite = ptwrite->next) {
		ptwrites->list[ptwrites->count++] = (struct rule){.ptwrite = ptwrite,
								  .first_site = ptwrites->site_count};
		for (size_t i = 0; i < ptwrite->site_count; i++)
			ptwrites->sites[ptwrites->site_count++].site = &ptwrite->sites[i];
	}
	return 0;
}

void rules_ptwrites_free(struct rules_ptwrites *ptwrites)
{
	if (!ptwrites)
		return;
	rules_code_names_close(&ptwrites->names);
	common_byte_map_free(&ptwrites->places);
	common_memory_budget_close(&ptwrites->memory_budget);
	common_byte_map_free(&ptwrites->source_numbers);
	free(ptwrites->sources);
	free(ptwrites->made);
	free(ptwrites->sites);
	free(ptwrites->list);
	free(ptwrites);
}
