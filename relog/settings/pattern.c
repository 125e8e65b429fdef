/* SPDX-License-Identifier: BSD-2-Clause */
/* Matches patterns by following all steps in parallel: a list holds each step that a match may be at, at most once. */
#include "relog/settings/pattern.h"

#include <ctype.h>
#include <stdlib.h>

#include "common/error.h"

/*
 * A step, and the start of the match that has reached the step. Lists are in order of priority: the first match to
 * reach a step is the leftmost match.
 */
struct at_step {
	uint32_t step;
	size_t start;
};

struct list {
	struct at_step *items;
	size_t count;
};

struct relog_pattern_work {
	struct list now, then;
	uint32_t *stack;
	uint64_t *seen; /* by step: turn in which the step was last put on a list */
	uint64_t turn;
};

struct text {
	const uint8_t *bytes;
	size_t size;
};

/* ---- positions in a text --------------------------------------------------------------------- */

static bool is_word(const struct text *text, size_t at)
{
	return at < text->size && (isalnum(text->bytes[at]) || text->bytes[at] == '_');
}

/* Whether an assertion step holds at position `at`. */
static bool assertion_holds(const struct relog_step *step, const struct text *text, size_t at)
{
	const bool before = at && is_word(text, at - 1), behind = is_word(text, at);

	switch (step->type) {
	case RELOG_STEP_START:
		return !at;
	case RELOG_STEP_END:
		return at == text->size;
	case RELOG_STEP_BOUNDARY:
		return (before != behind) != step->inverse;
	case RELOG_STEP_WORD:
		return step->inverse ? before && !behind : !before && behind;
	default:
		return true;
	}
}

/*
 * Adds to the list all steps that are reachable from `first` without consuming a byte. text NULL: assume that
 * assertions hold.
 */
static void reach(const struct relog_pattern *pattern, struct list *list, uint32_t first, size_t start,
		  const struct text *text, size_t at)
{
	struct relog_pattern_work *work = pattern->work;
	size_t waiting = 0;

	work->stack[waiting++] = first;
	while (waiting) {
		const uint32_t number = work->stack[--waiting];
		const struct relog_step *step = &pattern->steps[number];

		if (work->seen[number] == work->turn)
			continue;
		work->seen[number] = work->turn;
		if (step->type == RELOG_STEP_SET || step->type == RELOG_STEP_MATCH) {
			list->items[list->count++] = (struct at_step){number, start};
		} else if (step->type == RELOG_STEP_SPLIT) {
			work->stack[waiting++] = step->other;
			work->stack[waiting++] = step->next;
		} else if (!text || assertion_holds(step, text, at)) {
			work->stack[waiting++] = step->next;
		}
	}
}

/* ---- a pattern ------------------------------------------------------------------------------- */

void relog_pattern_free(struct relog_pattern *pattern)
{
	if (pattern->work) {
		free(pattern->work->now.items);
		free(pattern->work->then.items);
		free(pattern->work->stack);
		free(pattern->work->seen);
	}
	free(pattern->work);
	free(pattern->steps);
	free(pattern->sets);
	*pattern = (struct relog_pattern){.steps = NULL};
}

static int make_work(struct relog_pattern *pattern)
{
	struct relog_pattern_work *work = calloc(1, sizeof(*work));

	pattern->work = work;
	if (!work)
		return common_fail_memory("an expression", sizeof(*work));
	work->now.items = calloc(pattern->count, sizeof(*work->now.items));
	work->then.items = calloc(pattern->count, sizeof(*work->then.items));
	/* Each step adds at most two steps to the stack, and does so once a turn. */
	work->stack = calloc(2 * pattern->count + 1, sizeof(*work->stack));
	work->seen = calloc(pattern->count, sizeof(*work->seen));
	return work->now.items && work->then.items && work->stack && work->seen
		       ? 0
		       : common_fail_memory("an expression", pattern->count * sizeof(struct at_step));
}

static void find_first_bytes(struct relog_pattern *pattern)
{
	struct list *list = &pattern->work->now;

	list->count = 0;
	pattern->work->turn++;
	reach(pattern, list, 0, 0, NULL, 0);
	for (size_t i = 0; i < list->count; i++) {
		const struct relog_step *step = &pattern->steps[list->items[i].step];

		for (size_t k = 0; k < 4 && step->type == RELOG_STEP_SET; k++)
			pattern->first.bits[k] |= pattern->sets[step->set].bits[k];
	}
}

int relog_pattern_compile(struct relog_pattern *pattern, const char *text)
{
	int status;

	*pattern = (struct relog_pattern){.steps = NULL};
	status = relog_pattern_parse(pattern, text);
	if (!status)
		status = make_work(pattern);
	if (status)
		relog_pattern_free(pattern);
	else
		find_first_bytes(pattern);
	return status;
}

bool relog_pattern_is_empty(const struct relog_pattern *pattern)
{
	const struct text text = {(const uint8_t *)"", 0};
	struct list *list = &pattern->work->now;

	list->count = 0;
	pattern->work->turn++;
	reach(pattern, list, 0, 0, &text, 0);
	for (size_t i = 0; i < list->count; i++)
		if (pattern->steps[list->items[i].step].type == RELOG_STEP_MATCH)
			return true;
	return false;
}

/* ---- a search -------------------------------------------------------------------------------- */

struct search {
	const struct relog_pattern *pattern;
	struct text text;
	bool found;
	size_t first, end;
};

static void note_match(struct search *search, size_t start, size_t at)
{
	if (at == start || (search->found && start > search->first))
		return;
	search->found = true;
	search->first = start;
	search->end = at;
}

/* Consumes the byte at `at`: advances the steps of list `now`, and collects the result in list `then`. */
static void consume_byte(struct search *search, size_t at)
{
	const struct relog_pattern *pattern = search->pattern;
	struct relog_pattern_work *work = pattern->work;

	work->then.count = 0;
	work->turn++;
	for (size_t i = 0; i < work->now.count; i++) {
		const struct at_step *item = &work->now.items[i];
		const struct relog_step *step = &pattern->steps[item->step];

		/* A later start cannot beat the match that was found. */
		if (search->found && item->start > search->first)
			break;
		if (step->type == RELOG_STEP_SET && relog_set_has(&pattern->sets[step->set], search->text.bytes[at]))
			reach(pattern, &work->then, step->next, item->start, &search->text, at + 1);
	}
}

static void note_matches(struct search *search, size_t at)
{
	const struct list *now = &search->pattern->work->now;

	for (size_t i = 0; i < now->count; i++)
		if (search->pattern->steps[now->items[i].step].type == RELOG_STEP_MATCH)
			note_match(search, now->items[i].start, at);
}

bool relog_pattern_find(const struct relog_pattern *pattern, const char *text, size_t size, size_t from, size_t *first,
			size_t *length)
{
	struct search search = {.pattern = pattern, .text = {(const uint8_t *)text, size}};
	struct relog_pattern_work *work = pattern->work;

	work->now.count = 0;
	for (size_t at = from; at < size; at++) {
		struct list done;

		while (!work->now.count && !search.found && at < size &&
		       !relog_set_has(&pattern->first, search.text.bytes[at]))
			at++;
		if (at == size || (!work->now.count && search.found))
			break;
		/* Start a new turn for a match that begins here, unless consume_byte has just done so. */
		if (!work->now.count)
			work->turn++;
		if (!search.found)
			reach(pattern, &work->now, 0, at, &search.text, at);
		consume_byte(&search, at);
		done = work->now;
		work->now = work->then;
		work->then = done;
		note_matches(&search, at + 1);
	}
	*first = search.first;
	*length = search.end - search.first;
	return search.found;
}
