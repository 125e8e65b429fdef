/* SPDX-License-Identifier: BSD-2-Clause */
/* The requests of a session's socket. */
#include "record/control/request.h"
#include "record/capture/keeper.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/error.h"
#include "record/capture/machine.h"
#include "record/session/answer.h"

#define ARGUMENTS_MAX 300

struct request {
	struct record_session *session;
	const char *arguments[ARGUMENTS_MAX];
	size_t count;
	FILE *answer;
	enum record_control_when *when;
};

/* ---- query ----------------------------------------------------------------------------------- */

static void answer_counts(struct record_answer *answer, const struct record_session *session)
{
	const struct record_capture *capture = &session->capture;
	struct ptl_writer_counts written;
	struct record_model_counts processes;

	record_capture_counts(capture, &written);
	record_model_counts(capture->model, &processes);
	record_answer_number(answer, "Buffer size", "buffer_size", RECORD_ANSWER_BYTES, written.buffer_size);
	record_answer_number(answer, "Buffers", "buffers", RECORD_ANSWER_COUNT, written.buffers_all);
	record_answer_number(answer, "Free buffers", "free_buffers", RECORD_ANSWER_COUNT, written.buffers_free);
	record_answer_number(answer, "Buffers written", "buffers_written", RECORD_ANSWER_COUNT, written.buffers);
	record_answer_number(answer, "Log buffers lost", "log_buffers_lost", RECORD_ANSWER_COUNT, written.lost_buffers);
	record_answer_number(answer, "Real-time lost", "realtime_buffers_lost", RECORD_ANSWER_COUNT,
			     capture->missed_buffers);
	record_answer_number(answer, "Events", "events", RECORD_ANSWER_COUNT, capture->events);
	record_answer_number(answer, "Events lost", "events_lost", RECORD_ANSWER_COUNT,
			     capture->losses.lost[PTL_LOSS_EVENTS].count);
	record_answer_number(answer, "Losses", "losses", RECORD_ANSWER_COUNT, capture->losses.records);
	record_answer_number(answer, "Intel PT", "pt_bytes", RECORD_ANSWER_BYTES, capture->pt_bytes);
	record_answer_number(answer, "Written", "file_size", RECORD_ANSWER_BYTES, written.stored_bytes);
	record_answer_number(answer, "Processes", "processes", RECORD_ANSWER_COUNT, processes.processes);
}

/*
 * Returns the absolute path in fresh memory, because the client may have another working directory. NULL without a
 * file.
 */
static char *find_file(const struct record_capture *capture)
{
	const struct record_output *output = &capture->output;
	const char *path = capture->keeping.keeper ? record_keeper_path(capture->keeping.keeper) : output->path;
	char *absolute, folder[PATH_MAX];

	/* A real-time session has no file. */
	if (output->in_memory && !capture->keeping.keeper)
		return NULL;
	absolute = output->fd >= 0 ? realpath(path, NULL) : NULL;

	/* A buffering session has not created its file yet. */
	if (!absolute && capture->keeping.keeper && path[0] != '/' && getcwd(folder, sizeof(folder)) &&
	    asprintf(&absolute, "%s/%s", folder, path) < 0)
		absolute = NULL;
	return absolute ? absolute : strdup(path);
}

static void answer_file(struct record_answer *answer, const struct record_capture *capture)
{
	char *file = find_file(capture);

	record_answer_text(answer, "File", "file", file);
	free(file);
}

/* JSON shows 0 for "no limit". */
static void answer_limit(struct record_answer *answer, const char *label, const char *key, enum record_answer_unit unit,
			 uint64_t limit)
{
	if (!limit && !answer->is_json)
		record_answer_text(answer, label, key, "no limit");
	else
		record_answer_number(answer, label, key, unit, limit);
}

static const char *clock_name(uint32_t clock)
{
	switch (clock) {
	case PTL_CLOCK_VIRTUAL:
		return "virtual";
	case PTL_CLOCK_PERF:
		return "tsc";
	case PTL_CLOCK_SYSTEM:
		return "wall";
	default:
		return "monotonic";
	}
}

static void answer_filter(struct record_answer *answer, const struct record_capture *capture)
{
	struct ptl_bytes text = {0};
	const char *term;

	record_answer_number(answer, "Events left out", "events_left_out", RECORD_ANSWER_COUNT,
			     capture->filter.left_out);
	record_answer_list(answer, "Only", "only");
	for (unsigned i = 0; (term = record_filter_term(&capture->filter.current, i, &text)); i++)
		record_answer_item(answer, term);
	record_answer_list_end(answer);
	common_bytes_free(&text);
}

static int query(struct request *request)
{
	static const char *const modes[] = {"sequential", "newfile", "circular", "buffering",
					    "realtime"}; /* indexed by enum record_mode */
	const struct record_session *session = request->session;
	const struct record_settings *settings = session->settings;
	struct record_answer answer = {.file = request->answer,
				       .is_json = request->count && !strcmp(request->arguments[0], "json")};

	common_json_start(&answer.json, request->answer);
	if (answer.is_json)
		common_json_object(&answer.json, NULL);
	record_answer_text(&answer, "Name", "name", settings->session_name);
	record_answer_number(&answer, "Process", "pid", RECORD_ANSWER_NUMBER, (uint64_t)getpid());
	answer_file(&answer, &session->capture);
	record_answer_text(&answer, "Mode", "mode", modes[settings->mode]);
	answer_limit(&answer, "Largest size", "max_size", RECORD_ANSWER_BYTES, settings->max_size);
	answer_limit(&answer, "Time of a file", "part_time", RECORD_ANSWER_NANOSECONDS, settings->part_time);
	answer_limit(&answer, "Files kept", "keep", RECORD_ANSWER_COUNT, settings->keep);
	record_answer_text(&answer, "Source", "source", session->capture.machine.source);
	record_answer_text(&answer, "Clock", "clock", clock_name(session->capture.machine.clock));
	record_answer_number(&answer, "Recording for", "duration", RECORD_ANSWER_NANOSECONDS,
			     record_now() - session->start);
	record_answer_number(&answer, "Flush timer", "flush_interval", RECORD_ANSWER_NANOSECONDS,
			     settings->flush_interval);
	answer_counts(&answer, session);
	answer_filter(&answer, &session->capture);
	for (size_t i = 0; i < session->running_count; i++)
		if (session->running[i].source->answer)
			session->running[i].source->answer(session->running[i].state, &answer);
	if (answer.is_json) {
		common_json_object_end(&answer.json);
		common_json_line(&answer.json);
	}
	return 0;
}

static int list_answers(struct request *request)
{
	const struct record_session *session = request->session;
	struct ptl_writer_counts written;
	char *file = find_file(&session->capture);

	record_capture_counts(&session->capture, &written);
	fprintf(request->answer, "%d\t%llu\t%llu\t%s", (int)getpid(), (unsigned long long)session->capture.events,
		(unsigned long long)written.stored_bytes, file ? file : "-");
	free(file);
	return 0;
}

/* ---- changes --------------------------------------------------------------------------------- */

typedef int (*turn_function)(void *state, const char *rule, bool on, FILE *notes);

/* Returns the source's function for a kind of rule; NULL if the source has none. */
static turn_function turn_of(const struct record_source *source, char kind)
{
	switch (kind) {
	case RECORD_CONTROL_PROVIDER:
		return source->turn;
	case RECORD_CONTROL_EVENT:
		return source->turn_event;
	case RECORD_CONTROL_FLAGS:
		return source->turn_flags;
	case RECORD_CONTROL_STACK:
		return source->turn_stack;
	default:
		return NULL;
	}
}

/* argument: as described in record/control/request.h. */
static int turn_one(struct request *request, const char *argument)
{
	struct record_session *session = request->session;
	const bool on = argument[0] == RECORD_CONTROL_ON;
	bool taken = false;
	int status = 0;

	if (strlen(argument) < 2)
		return common_fail(PTL_MISUSE, "a request is not as it should be");
	for (size_t i = 0; status == 0 && i < session->running_count; i++) {
		const struct record_running *running = &session->running[i];
		const turn_function turn = turn_of(running->source, argument[1]);

		if (!turn)
			continue;
		taken = true;
		status = turn(running->state, argument + 2, on, request->answer);
	}
	return status < 0 || taken
		       ? status
		       : common_fail(PTL_MISUSE,
				     "this session has nothing to turn on and off: it records no events of %s",
				     argument[1] == RECORD_CONTROL_PROVIDER ? "programs" : "the kernel");
}

static int update(struct request *request)
{
	struct common_string_list only = {0};
	int status = 0;

	for (size_t n = 0; status == 0 && n < request->count; n++) {
		const char *argument = request->arguments[n];

		if (argument[0] && argument[1] == RECORD_CONTROL_ONLY)
			status = common_string_list_add(&only, argument + 2);
		else
			status = turn_one(request, argument);
	}
	if (status == 0 && only.count)
		status = record_capture_only(&request->session->capture, &only);
	common_string_list_free(&only);
	return status;
}

static int answer_path(void *context, const char *path)
{
	FILE *answer = context;

	fwrite(path, 1, strlen(path) + 1, answer);
	return 0;
}

/* Answers with the paths of the files recorded so far, each zero-terminated. */
static int files(struct request *request)
{
	struct record_capture *capture = &request->session->capture;
	int status = record_capture_flush(capture);

	return status < 0 ? status : record_capture_files(capture, answer_path, request->answer);
}

static int keep_file(struct request *request)
{
	const int status = record_capture_keep(&request->session->capture);

	if (status == 0)
		*request->when = RECORD_CONTROL_KEPT;
	return status;
}

static int flush_capture(struct request *request)
{
	struct record_capture *capture = &request->session->capture;

	return capture->keeping.keeper ? keep_file(request) : record_capture_flush(capture);
}

static int answer_only(void *context, const char *path)
{
	return fprintf(context, "1 0 %s", path) < 0 ? PTL_SYSTEM : 0;
}

static int only_file(struct request *request)
{
	struct record_capture *capture = &request->session->capture;
	int status = record_capture_flush(capture);

	return status < 0 ? status : record_capture_files(capture, answer_only, request->answer);
}

/*
 * Answers a real-time reader with the file after the given number, or with the current file: number, count of missed
 * events, path. The answer is empty if no such file exists yet.
 */
static int next_file(struct request *request)
{
	struct record_capture *capture = &request->session->capture;
	const uint64_t after = request->count ? strtoull(request->arguments[0], NULL, 10) : UINT64_MAX;
	struct record_series_mark missed = {0};
	uint64_t number = 1;
	char *path = NULL, *absolute;
	int status = 0;

	if (!capture->series)
		return after == UINT64_MAX ? only_file(request) : 0;
	status = record_series_next(capture->series, after, &number, &path, &missed);
	if (status < 0)
		return status == PTL_NOT_FOUND ? 0 : status;
	absolute = record_series_in_memory(capture->series) ? NULL : realpath(path, NULL);
	capture->missed_buffers += missed.buffers;
	fprintf(request->answer, "%llu %llu %s", (unsigned long long)number, (unsigned long long)missed.events,
		absolute ? absolute : path);
	free(absolute);
	free(path);
	return record_capture_flush(capture);
}

static int snapshot(struct request *request)
{
	struct record_session *session = request->session;
	bool taken = false;
	int status = 0;

	/* A request with a FILE operand leaves the merge to the client. */
	if (session->capture.keeping.keeper && !request->count)
		return keep_file(request);
	for (size_t i = 0; status == 0 && i < session->running_count; i++) {
		const struct record_running *running = &session->running[i];

		taken |= running->source->snapshot && session->settings->pt.snapshot;
		status = running->source->snapshot ? running->source->snapshot(running->state) : 0;
	}
	if (status < 0 || taken || (request->count && !strcmp(request->arguments[0], RECORD_CONTROL_ANY)))
		return status;
	if (session->settings->mode == RECORD_MODE_REALTIME)
		return common_fail(PTL_MISUSE,
				   "this session has no file of its own: a FILE behind its name is written with "
				   "what is in memory");
	return common_fail(PTL_MISUSE,
			   "this session writes all that it records as it comes, and has nothing in memory to keep "
			   "(start one with --snapshot for that); a FILE behind its name is written with what it has "
			   "recorded so far");
}

static int stop_session(struct request *request)
{
	request->session->leave = true;
	*request->when = RECORD_CONTROL_AT_END;
	return 0;
}

static int rest(struct request *request)
{
	request->session->capture.rotation.rest_wanted = true;
	*request->when = RECORD_CONTROL_REST;
	return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static const struct {
	const char *word;
	int (*run)(struct request *request);
} requests[] = {
	{"query", query},         {"list", list_answers}, {"update", update},
	{"flush", flush_capture}, {"snapshot", snapshot}, {"stop", stop_session},
	{"files", files},         {"next", next_file},    {"rest", rest},
};

int record_control_request(struct record_session *session, const char *text, size_t size, FILE *answer,
			   enum record_control_when *when)
{
	struct request request = {.session = session, .answer = answer, .when = when};
	const char *at = text, *const end = text + size;

	if (!size || text[size - 1])
		return common_fail(PTL_MISUSE, "a request is not as it should be");
	for (at += strlen(at) + 1; at < end && request.count < ARGUMENTS_MAX; at += strlen(at) + 1)
		request.arguments[request.count++] = at;
	if (at < end)
		return common_fail(PTL_MISUSE, "a request has %d arguments at most", ARGUMENTS_MAX);
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		if (!strcmp(requests[i].word, text))
			return requests[i].run(&request);
	return common_fail(PTL_MISUSE, "this session's recorder does not know the request '%s'", text);
}
