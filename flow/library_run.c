/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a caller's view: each function of the view runner calls the caller's function. */
#include "flow/library.h"

#include "common/error.h"
#include "common/structure.h"

struct caller {
	struct ptl_flow_view view;
	void *context;
};

static int library_begin(void *context, const struct flow_segment *segment, void **partial)
{
	const struct caller *caller = context;
	const struct ptl_flow_segment given = flow_library_segment(segment);
	int status;

	*partial = NULL;
	ptl_error_clear();
	status = flow_library_result("view's", "begin", caller->view.begin(caller->context, &given, partial));
	if (!status && !*partial)
		return common_fail(PTL_MISUSE, "the view's begin gave no partial result");
	return status;
}

static int library_consume(void *context, void *partial, const struct flow_segment *segment,
			   const struct flow_batch *batch)
{
	const struct caller *caller = context;
	const struct ptl_flow_segment given = flow_library_segment(segment);
	struct ptl_flow_batch walk;

	flow_library_batch(&walk, batch, &given, caller->view.counts_only);
	ptl_error_clear();
	return flow_library_result("view's", "consume", caller->view.consume(caller->context, partial, &given, &walk));
}

static int library_merge(void *context, void *left, void *right)
{
	const struct caller *caller = context;

	ptl_error_clear();
	return flow_library_result("view's", "merge", caller->view.merge(caller->context, left, right));
}

static int library_finish(void *context, const struct flow_segment *last, void *result)
{
	const struct caller *caller = context;
	const struct ptl_flow_segment given = flow_library_segment(last);

	ptl_error_clear();
	return flow_library_result("view's", "finish", caller->view.finish(caller->context, &given, result));
}

static int library_emit(void *context, const struct flow_segment *segment, void *partial, uint64_t horizon)
{
	const struct caller *caller = context;
	const struct ptl_flow_segment given = flow_library_segment(segment);

	ptl_error_clear();
	return flow_library_result("view's", "emit", caller->view.emit(caller->context, &given, partial, horizon));
}

static void library_drop(void *context, void *partial)
{
	const struct caller *caller = context;

	caller->view.drop(caller->context, partial);
}

static int check_view(const struct ptl_flow_view *view)
{
	if (!view->begin || !view->consume || !view->drop)
		return common_fail(PTL_MISUSE, "struct ptl_flow_view: begin, consume and drop are needed");
	if (view->emit ? view->merge || view->finish : !view->merge || !view->finish)
		return common_fail(PTL_MISUSE,
				   "struct ptl_flow_view: either merge and finish are needed, or emit alone");
	return 0;
}

int ptl_flow_run(struct ptl_flow *flow, const struct ptl_flow_options *options, const struct ptl_flow_view *view,
		 void *context)
{
	struct caller caller = {.context = context};
	struct flow_view_options view_options;
	struct flow_view runner = {
		.context = &caller, .begin = library_begin, .consume = library_consume, .drop = library_drop};
	int status;

	if (!flow || !view)
		return common_fail(PTL_MISUSE, "ptl_flow_run needs a flow and a view");
	status = common_structure_take("ptl_flow_view", view, &caller.view, sizeof(caller.view));
	if (!status)
		status = check_view(&caller.view);
	if (!status)
		status = flow_library_options(options, &view_options);
	if (status < 0)
		return status;
	runner.counts_only = caller.view.counts_only;
	runner.emit = caller.view.emit ? library_emit : NULL;
	runner.merge = caller.view.merge ? library_merge : NULL;
	runner.finish = caller.view.finish ? library_finish : NULL;
	return flow_view_run(flow->trace, flow->timeline, &view_options, &runner);
}
