/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Prints the calls of each thread as lines, with libptl-analysis: begin and end, depth, name and instructions.
 *
 *	cc -o calls calls.c $(pkg-config --cflags --libs ptl-analysis ptl)
 *	./calls FILE
 */
#include <inttypes.h>
#include <stdio.h>

#include <ptl/calls.h>
#include <ptl/reader.h>

static int print_begin(void *context, const struct ptl_call_thread *thread)
{
	(void)context;
	printf("thread %" PRIu32 " of %" PRIu32 " %s\n", thread->tid, thread->pid, thread->process);
	return 0;
}

static int print_enter(void *context, const struct ptl_call_thread *thread, const struct ptl_call *call)
{
	(void)context;
	(void)thread;
	printf("%*s> %s\n", (int)(2 * call->depth), "", call->name);
	return 0;
}

static int print_leave(void *context, const struct ptl_call_thread *thread, const struct ptl_call *call)
{
	uint64_t *instructions = context;

	(void)thread;
	printf("%*s< %s  %" PRIu64 " ns, %" PRIu64 " instructions%s\n", (int)(2 * call->depth), "", call->name,
	       call->duration, call->instructions, call->flags & PTL_CALL_UNWOUND ? ", unwound" : "");
	*instructions += call->self_instructions;
	return 0;
}

static int print_gap(void *context, const struct ptl_call_thread *thread)
{
	(void)context;
	(void)thread;
	puts("flow is missing here");
	return 0;
}

static int show(struct ptl_trace *trace)
{
	const struct ptl_calls_callbacks callbacks = {
		.size = sizeof(callbacks),
		.begin = print_begin,
		.enter = print_enter,
		.leave = print_leave,
		.gap = print_gap,
	};
	struct ptl_analysis *analysis;
	uint64_t instructions = 0;
	int status = ptl_analysis_open(trace, NULL, &analysis);

	if (status < 0)
		return status;
	status = ptl_calls_run(analysis, NULL, &callbacks, &instructions);
	printf("%" PRIu64 " instructions in calls\n", instructions);
	ptl_analysis_close(analysis);
	return status;
}

int main(int argc, char **argv)
{
	struct ptl_trace *trace;
	int status = argc == 2 ? ptl_open(argv[1], NULL, &trace) : PTL_MISUSE;

	if (argc != 2)
		fputs("usage: calls FILE\n", stderr);
	if (status < 0 && argc != 2)
		return 2;
	if (status == 0) {
		status = show(trace);
		ptl_close(trace);
	}
	if (status < 0)
		fprintf(stderr, "calls: %s\n", ptl_error_text());
	return status < 0 ? 1 : 0;
}
