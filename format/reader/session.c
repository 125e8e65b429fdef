/* SPDX-License-Identifier: BSD-2-Clause */
/* Passes the events of a session's files, one file after the other. */
#include <stdlib.h>
#include <unistd.h>

#include <ptl/reader.h>

#include "common/error.h"
#include "common/session/session_ask.h"
#include "common/structure.h"
#include "format/reader/session_files.h"

struct session {
	struct format_session_files files;
	const struct ptl_realtime_options *options;
	const struct ptl_event_filter *filter;
	const struct ptl_callbacks *callbacks;
	void *context; /* context of the callbacks */
};

static int begin_file(void *context, struct ptl_trace *trace)
{
	const struct session *session = context;

	return session->callbacks->begin ? session->callbacks->begin(session->context, trace) : 0;
}

static int end_file(void *context, struct ptl_trace *trace)
{
	const struct session *session = context;

	return session->callbacks->end ? session->callbacks->end(session->context, trace) : 0;
}

static int file_event(void *context, struct ptl_trace *trace, const struct ptl_event *given)
{
	struct session *session = context;
	const int repeated = format_session_files_repeat(&session->files, given);

	if (repeated || !session->callbacks->event)
		return repeated < 0 ? repeated : 0;
	return session->callbacks->event(session->context, trace, given);
}

/* Called while the session's recorder does not answer. */
static int wait_for_session(void *context, const char *name, uint64_t waited)
{
	const struct session *session = context;

	(void)name;
	(void)waited;
	return session->options && session->options->idle ? session->options->idle(session->options->context, NULL) : 0;
}

/* Processes a file. Takes ownership of the descriptor. */
static int process_file(struct session *session, int fd, const char *path)
{
	static const struct ptl_callbacks callbacks = {
		.size = sizeof(callbacks), .begin = begin_file, .event = file_event, .end = end_file};
	struct ptl_trace *trace;
	int status = ptl_open_realtime_fd(fd, path, session->options, &trace);

	if (status) {
		close(fd);
		return status;
	}
	status = ptl_process(trace, session->filter, &callbacks, session);
	ptl_close(trace);
	return status;
}

int ptl_process_session(const char *name, const struct ptl_realtime_options *options,
			const struct ptl_event_filter *filter, const struct ptl_callbacks *callbacks, void *context,
			uint64_t *missed)
{
	struct ptl_realtime_options taken;
	struct ptl_callbacks called;
	struct session session = {{.session = name}, options ? &taken : NULL, filter, &called, context};
	char *path;
	int fd, status = common_structure_take_optional("ptl_realtime_options", options, &taken, sizeof(taken));

	if (!status)
		status = common_structure_take("ptl_callbacks", callbacks, &called, sizeof(called));
	if (status)
		return status;
	taken.size = sizeof(taken);
	called.size = sizeof(called);
	session.files.wait = (struct common_session_wait){wait_for_session, &session};
	for (;;) {
		status = format_session_files_next(&session.files, &fd, &path);
		if (missed)
			*missed = session.files.missed;
		if (status || fd < 0)
			break;
		status = process_file(&session, fd, path);
		free(path);
		if (status)
			break;
	}
	if (!status && session.files.killed)
		status = common_fail(PTL_TRUNCATED, "%s", session.files.doubt);
	format_session_files_free(&session.files);
	return status;
}

int ptl_session_flush(const char *session)
{
	struct ptl_bytes request = {0};
	const char *name, *text;
	char *memory = NULL;
	size_t size;
	int folder, status = common_session_name(session, &name);

	if (!status)
		status = common_session_folder(false, &folder);
	if (status)
		return status;
	common_write_bytes(&request, "flush", sizeof("flush"));
	status = common_session_ask(folder, name, NULL, &request, &memory, &text, &size);
	close(folder);
	if (!status)
		free(memory);
	return status;
}
