/* SPDX-License-Identifier: BSD-2-Clause */
/* Stacks and executed lines in terms of the source. */
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/crash/crash.h"
#include "dump/crash/runtime_name.h"
#include "flow/timeline/query.h"

/* ---- code ---------------------------------------------------------------------------------------- */

static const char *keep_text(struct dump_crash_report *report, struct ptl_bytes *text)
{
	const char *copy = text->failed ? NULL : common_arena_copy(&report->arena, text->data, text->size);

	common_bytes_free(text);
	return copy;
}

/* Sets function and image from the symbols. */
static int name_by_symbol(struct dump_crash_report *report, uint32_t image, uint64_t address,
			  struct dump_crash_frame *frame)
{
	struct analysis_code_place place;
	int status = analysis_functions_place(report->functions, image, address, &place);

	frame->image = image == FLOW_NONE
			       ? ""
			       : common_base_name(flow_timeline_image(report->timeline, image)->data.file_name);
	frame->function = "";
	if (status == 0 && place.function != ANALYSIS_NO_FUNCTION)
		frame->function = analysis_function(report->functions, place.function)->name;
	return status;
}

static int name_by_scope(struct dump_crash_report *report, const struct flow_scope *scope,
			 struct dump_crash_frame *frame)
{
	struct ptl_bytes text = {0};

	flow_symbols_name(report->symbols, scope->function->name, &text);
	frame->function = keep_text(report, &text);
	return frame->function ? 0 : common_fail_memory("a name", 0);
}

int dump_crash_describe(struct dump_crash_report *report, uint32_t image, uint64_t address,
			struct dump_crash_frame *frames)
{
	const struct flow_scope *scope = image == FLOW_NONE ? NULL
							    : flow_sources_scope(report->sources, image, address);
	struct dump_crash_frame frame = {.address = address};
	int count = 0, status = name_by_symbol(report, image, address, &frame);
	const char *const symbol = frame.function;

	if (!flow_sources_find(report->sources, image, address, &frame.file, &frame.line))
		frame.file = NULL;
	for (; status == 0 && scope && scope->outer && count < DUMP_CRASH_INLINED - 1; scope = scope->outer) {
		if (!*scope->function->name)
			continue;
		status = name_by_scope(report, scope, &frame);
		frame.inlined = true;
		frame.runtime = dump_crash_is_runtime(frame.function ? frame.function : "", frame.image);
		frames[count++] = frame;
		frame.file = *scope->call_file ? scope->call_file : NULL;
		frame.line = scope->call_line;
	}
	frame.inlined = false;
	frame.function = symbol;
	frame.runtime = dump_crash_is_runtime(symbol, frame.image);
	frames[count++] = frame;
	return status < 0 ? status : count;
}

/* Returns NULL for an unknown process. */
static const struct flow_timeline_process *process_of(const struct dump_crash_report *report, uint32_t process)
{
	return process == FLOW_NONE ? NULL : flow_timeline_process(report->timeline, process);
}

/* Finds the image of an address at the end of the process. */
static uint32_t image_at(const struct dump_crash_report *report, uint32_t process, uint64_t time, uint64_t address)
{
	struct flow_place place;

	if (process == FLOW_NONE || !address || !flow_timeline_find(report->timeline, process, time, address, &place))
		return FLOW_NONE;
	return place.image;
}

/* Finds the image that had the address last, before the image was unmapped. */
static uint32_t former_image_at(const struct dump_crash_report *report, uint32_t process, uint64_t address)
{
	const struct flow_timeline_process *owner = process_of(report, process);
	uint32_t found = FLOW_NONE;

	for (size_t i = 0; owner && i < owner->image_count; i++) {
		const struct flow_timeline_image *image = flow_timeline_image(report->timeline, owner->images[i]);

		if (address - image->data.base < image->data.size)
			found = owner->images[i];
	}
	return found;
}

/* ---- stacks -------------------------------------------------------------------------------------- */

/* A frame whose address is unknown: only the function is known. */
static void describe_function(const struct dump_crash_report *report, const struct analysis_frame *call,
			      struct dump_crash_frame *frame)
{
	const struct analysis_function *function = analysis_function(report->functions, call->function);

	*frame = (struct dump_crash_frame){
		.function = call->function == ANALYSIS_NO_FUNCTION ? "" : function->name,
		.image = call->function == ANALYSIS_NO_FUNCTION || function->place == FLOW_NONE ? "" : function->image,
	};
	if (call->flags & ANALYSIS_CALL_KERNEL && !*frame->function)
		frame->function = "[kernel]";
	frame->runtime = call->flags & (ANALYSIS_CALL_KERNEL | ANALYSIS_CALL_OUTSIDE) ||
			 dump_crash_is_runtime(frame->function, frame->image);
}

/* As dump_crash_describe, at the end of the process. */
static int describe_address(struct dump_crash_report *report, uint32_t process, uint64_t time, uint64_t address,
			    struct dump_crash_frame *frames)
{
	const uint32_t image = image_at(report, process, time, address);
	const uint32_t former = image == FLOW_NONE ? former_image_at(report, process, address) : FLOW_NONE;
	const int count = dump_crash_describe(report, former == FLOW_NONE ? image : former, address, frames);

	for (int i = 0; i < count; i++)
		frames[i].unmapped = former != FLOW_NONE;
	return count;
}

/* Returns the first frame of the program's own code from `at` on; stack->count: none. */
static size_t own_frame(const struct dump_crash_stack *stack, size_t at)
{
	while (at < stack->count && stack->frames[at].runtime)
		at++;
	return at;
}

/* The outermost frame without a name is the beginning of a program without symbols. */
static void mark_start(struct dump_crash_stack *stack)
{
	for (size_t i = 1; i < stack->count; i++)
		if (!*stack->frames[i].function && dump_crash_is_start(stack->frames[i - 1].function))
			stack->frames[i].runtime = true;
}

/* Code that is not there, as behind a null pointer, is no code of the program: the caller is the place. */
static int mark_nowhere(struct dump_crash_report *report, struct dump_crash_stack *stack)
{
	struct dump_crash_frame *frame = stack->frames;
	struct ptl_bytes text = {0};

	if (stack->count < 2 || (!frame->unmapped && (*frame->function || *frame->image || frame->file)))
		return 0;
	frame->runtime = true;
	if (!frame->unmapped) {
		stack->reason = "a call of an address that no image covers";
		return 0;
	}
	if (*frame->function) {
		dump_crash_short_name(frame->function, &text);
		common_text_add(&text, " in ");
	}
	common_text_safe(&text, frame->image);
	common_text_add(&text, " was unmapped before");
	stack->reason = keep_text(report, &text);
	return stack->reason ? 0 : common_fail_memory("a reason", 0);
}

/* Chooses the frame of the program's own code, and the meaning of the call that the frame made. */
static void stack_choose(struct dump_crash_stack *stack)
{
	size_t place = stack->count;

	mark_start(stack);
	/* In a handler of a signal, the interrupted function is the place. */
	for (size_t i = stack->count; i-- > 0 && place == stack->count;)
		if (stack->frames[i].flags & ANALYSIS_CALL_SIGNAL)
			place = own_frame(stack, i + 1);
	if (place == stack->count)
		place = own_frame(stack, 0);
	stack->place = place == stack->count ? DUMP_CRASH_NO_INDEX : place;
	if (place == stack->count)
		return;
	for (size_t i = place; i-- > 0 && !stack->reason;)
		stack->reason = dump_crash_reason(stack->frames[i].function);
}

static bool is_shown(const struct analysis_frame *call)
{
	return !(call->flags & ANALYSIS_CALL_STUB);
}

int dump_crash_stack_make(struct dump_crash_report *report, const struct dump_crash_frames *frames, uint32_t process,
			  uint64_t address, struct dump_crash_stack *stack)
{
	const struct flow_timeline_process *owner = process_of(report, process);
	const uint64_t time = !owner || owner->end == FLOW_TIME_END ? UINT64_MAX - 1 : owner->end ? owner->end - 1 : 0;
	int status;

	*stack = (struct dump_crash_stack){.place = DUMP_CRASH_NO_INDEX};
	stack->frames = common_arena_zeroed(&report->arena,
					    (frames->count + 1) * DUMP_CRASH_INLINED * sizeof(*stack->frames));
	if (!stack->frames)
		return common_fail_memory("a stack", frames->count);
	for (size_t i = frames->count; i-- > 0;) {
		const struct analysis_frame *call = &frames->list[i];
		struct dump_crash_frame *frame = &stack->frames[stack->count];
		int count = 1;

		if (frames->outer && i + 1 == frames->outer) {
			stack->missing_at = stack->count;
			stack->missing = frames->depth - frames->count;
		}
		if (address && !(call->flags & (ANALYSIS_CALL_KERNEL | ANALYSIS_CALL_OUTSIDE)) && is_shown(call))
			count = describe_address(report, process, time, address, frame);
		else if (is_shown(call))
			describe_function(report, call, frame);
		else
			count = 0;
		if (count < 0)
			return count;
		stack->count += (size_t)count;
		if (count)
			stack->frames[stack->count - 1].flags = call->flags & ANALYSIS_CALL_SHOWN &
								~ANALYSIS_CALL_UNFINISHED;
		/* The caller stands at its call; an interrupted caller stands at the instruction itself. */
		address = call->return_address;
		if (address && !(call->flags & (ANALYSIS_CALL_SIGNAL | ANALYSIS_CALL_KERNEL)))
			address--;
	}
	status = stack->count ? mark_nowhere(report, stack) : 0;
	stack_choose(stack);
	return status;
}

/* ---- executed lines ------------------------------------------------------------------------------ */

struct step_search {
	struct dump_crash_report *report;
	struct dump_crash_thread *thread;
	const char *file; /* of the last line found */
	uint32_t line;
	const char *function;
	uint32_t left; /* addresses that the search may still look up */
};

/* Addresses that a search looks up: code of a hostile trace may have blocks of a megabyte without lines. */
#define STEP_ADDRESSES (1u << 20)

/* Returns the text of a source line without blanks at the beginning, tabs as blanks; NULL: unknown. */
static const char *line_words(struct dump_crash_report *report, const char *file, uint32_t line)
{
	const char *words;
	char *copy;
	size_t size;

	if (!dump_source_line(&report->texts, file, line, &words, &size))
		return NULL;
	for (; size && (*words == ' ' || *words == '\t'); words++)
		size--;
	copy = common_arena_copy(&report->arena, words, size);
	for (char *tab = copy; tab && (tab = strchr(tab, '\t')) != NULL;)
		*tab = ' ';
	return copy;
}

static int step_add(struct step_search *search, uint32_t image, uint64_t address, const char *file, uint32_t line)
{
	struct dump_crash_thread *thread = search->thread;
	struct dump_crash_frame frames[DUMP_CRASH_INLINED];
	const int count = dump_crash_describe(search->report, image, address, frames);

	if (count < 0)
		return count;
	search->file = file;
	search->line = line;
	/* Lines of the C library and the like hide the program's own lines. */
	if (frames[count - 1].runtime && thread->stack.place != DUMP_CRASH_NO_INDEX)
		return 0;
	thread->steps[thread->step_count++] = (struct dump_crash_step){
		.function = frames[0].function,
		.image = frames[0].image,
		.file = file,
		.line = line,
		.words = line_words(search->report, file, line),
		.address = address,
	};
	return 0;
}

/* Adds source lines of a block in reverse order. */
static int steps_of_block(struct step_search *search, const struct dump_crash_block *block)
{
	const size_t most = search->report->limits.steps;
	int status = 0;

	/* Each byte of the last instruction has the line of its first byte. */
	for (uint64_t address = block->last;; address--) {
		const char *file;
		uint32_t line;

		if (search->thread->step_count == most || status < 0 || !search->left)
			return status;
		search->left--;
		if (flow_sources_find(search->report->sources, block->image, address, &file, &line) && line &&
		    (!search->file || line != search->line || strcmp(file, search->file)))
			status = step_add(search, block->image, address, file, line);
		if (address == block->begin)
			return status;
	}
}

static void steps_turn(struct dump_crash_thread *thread)
{
	for (size_t i = 0; i < thread->step_count / 2; i++) {
		const struct dump_crash_step kept = thread->steps[i];

		thread->steps[i] = thread->steps[thread->step_count - 1 - i];
		thread->steps[thread->step_count - 1 - i] = kept;
	}
}

/* Without source lines: adds the last blocks in which another function begins. */
static int steps_by_function(struct step_search *search, const struct dump_crash_tail *tail, size_t blocks)
{
	struct dump_crash_thread *thread = search->thread;

	for (size_t i = blocks; i-- > 0;) {
		const struct dump_crash_block *block = &tail->blocks[i];
		struct dump_crash_frame frame;
		const int status = name_by_symbol(search->report, block->image, block->begin, &frame);

		if (status < 0)
			return status;
		if (search->function && !strcmp(frame.function, search->function)) {
			thread->steps[thread->step_count - 1].address = block->begin;
			continue;
		}
		if (thread->step_count == search->report->limits.steps)
			return 0;
		search->function = frame.function;
		thread->steps[thread->step_count++] = (struct dump_crash_step){
			.function = frame.function, .image = frame.image, .address = block->begin};
	}
	return 0;
}

int dump_crash_steps_make(struct dump_crash_report *report, const struct dump_crash_tail *tail, size_t blocks,
			  struct dump_crash_thread *thread)
{
	struct step_search search = {.report = report, .thread = thread, .left = STEP_ADDRESSES};
	int status = 0;

	thread->steps = common_arena_zeroed(&report->arena, (report->limits.steps + 1) * sizeof(*thread->steps));
	if (!thread->steps)
		return common_fail_memory("lines", report->limits.steps);
	for (size_t i = blocks; status == 0 && i-- > 0 && thread->step_count < report->limits.steps;) {
		if (tail->blocks[i].image != FLOW_NONE)
			status = steps_of_block(&search, &tail->blocks[i]);
		if (tail->blocks[i].after_gap && thread->step_count)
			thread->steps[thread->step_count - 1].after_gap = true;
	}
	if (status == 0 && !thread->step_count)
		status = steps_by_function(&search, tail, blocks);
	steps_turn(thread);
	thread->gap = blocks == tail->count && tail->gap;
	return status;
}
