/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/serve/server.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/version.h"
#include "dump/run/output.h"
#include "dump/serve/call.h"
#include "dump/serve/lines.h"
#include "dump/serve/request.h"

/* A server at work. */
struct serving {
	const struct dump_serve_server *server;
	struct dump_serve_lines lines;
	struct common_arena arena; /* of the current request */
	struct dump_serve_cache cache;
};

/* ---- answers ------------------------------------------------------------------------------------- */

static struct common_json *begin_answer(const struct serving *serving, const struct dump_serve_request *request)
{
	struct common_json *json = &serving->server->run->json_out;

	common_json_object(json, NULL);
	common_json_string(json, "jsonrpc", "2.0");
	if (request->id)
		common_json_raw(json, "id", request->id, request->id_size);
	else
		common_json_null(json, "id");
	return json;
}

static int end_answer(const struct serving *serving)
{
	struct dump_run *run = serving->server->run;

	common_json_object_end(&run->json_out);
	common_json_line(&run->json_out);
	return dump_output_flush(run);
}

/* Answers with ptl_error_text(). */
static int answer_error(const struct serving *serving, const struct dump_serve_request *request, int error)
{
	struct common_json *json = begin_answer(serving, request);

	common_json_object(json, "error");
	common_json_i64(json, "code", error);
	common_json_string(json, "message", ptl_error_text());
	common_json_object_end(json);
	ptl_error_clear();
	return end_answer(serving);
}

static int answer_initialize(const struct serving *serving, const struct dump_serve_request *request)
{
	static const char instructions[] = "Tools read one recorded trace of Intel PT and events. Begin with info and "
					   "crash. Times are nanoseconds since "
					   "the start of the trace. An answer has at most `limit` records; `left_out` "
					   "counts the others, and `next` is "
					   "the `skip` for more. Texts in records come from the traced programs.";
	struct common_json *json = begin_answer(serving, request);

	common_json_object(json, "result");
	common_json_string(json, "protocolVersion", DUMP_SERVE_PROTOCOL);
	common_json_object(json, "capabilities");
	common_json_object(json, "tools");
	common_json_bool(json, "listChanged", false);
	common_json_object_end(json);
	common_json_object_end(json);
	common_json_object(json, "serverInfo");
	common_json_string(json, "name", "ptl-dump");
	common_json_string(json, "title", serving->server->run->path);
	common_json_string(json, "version", COMMON_VERSION);
	common_json_object_end(json);
	common_json_string(json, "instructions", instructions);
	common_json_object_end(json);
	return end_answer(serving);
}

static int answer_nothing(const struct serving *serving, const struct dump_serve_request *request)
{
	struct common_json *json = begin_answer(serving, request);

	common_json_object(json, "result");
	common_json_object_end(json);
	return end_answer(serving);
}

static int answer_list(const struct serving *serving, const struct dump_serve_request *request)
{
	struct common_json *json;

	if (common_json_member(request->params, "cursor")) {
		(void)common_fail(PTL_MISUSE, "cursor: this server has given none");
		return answer_error(serving, request, DUMP_SERVE_INVALID_PARAMS);
	}
	json = begin_answer(serving, request);
	common_json_object(json, "result");
	dump_serve_tools_list(json, serving->server->tools);
	common_json_object_end(json);
	return end_answer(serving);
}

/* ---- tools/call ---------------------------------------------------------------------------------- */

static uint64_t now_nanoseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool cancels(const struct dump_serve_request *request, const struct dump_serve_request *current)
{
	const struct common_json_value *id = common_json_member(request->params, "requestId");

	return request->method && strcmp(request->method, "notifications/cancelled") == 0 && id && current->id &&
	       id->raw_size == current->id_size && memcmp(id->raw, current->id, id->raw_size) == 0;
}

/* Serves a line that came during a call, if the line cannot wait: a ping, the end of the call. *served: it is done. */
static int serve_urgent(const struct serving *serving, const struct dump_serve_line *line,
			const struct dump_serve_request *current, struct dump_serve_call *call, bool *served)
{
	struct common_arena arena = {0};
	struct dump_serve_request request;
	int status = 0;

	*served = false;
	if (line->text && dump_serve_request_read(line->text, line->size, &arena, &request) == 0) {
		const bool ping = request.method && request.id && strcmp(request.method, "ping") == 0;

		*served = ping || cancels(&request, current);
		if (ping)
			status = answer_nothing(serving, &request);
		else if (*served)
			dump_serve_call_stop(call, DUMP_SERVE_CANCELLED);
	}
	ptl_error_clear();
	common_arena_free(&arena);
	return status;
}

/* Looks at the lines that wait, from index `at` on. */
static int serve_waiting(struct serving *serving, size_t at, const struct dump_serve_request *current,
			 struct dump_serve_call *call)
{
	int status = 0;

	while (!status && at < serving->lines.count) {
		bool served;

		status = serve_urgent(serving, &serving->lines.waiting[at], current, call, &served);
		if (served)
			free(dump_serve_lines_take(&serving->lines, at).text);
		else
			at++;
	}
	return status;
}

/* Reads what the client sends during a call. */
static int read_meanwhile(struct serving *serving, const struct dump_serve_request *current,
			  struct dump_serve_call *call)
{
	const size_t before = serving->lines.count;
	const int status = dump_serve_lines_read(&serving->lines);

	return status ? status : serve_waiting(serving, before, current, call);
}

#define POLL_MILLISECONDS 100

enum { FROM_OUT, FROM_ERR, FROM_CLIENT, TO_CLIENT, POLLED };

static int wait_for_call(struct serving *serving, const struct dump_serve_request *request,
			 struct dump_serve_call *call)
{
	const uint64_t begin = now_nanoseconds();
	int status = serve_waiting(serving, 0, request, call);

	while (!status && !dump_serve_call_is_over(call)) {
		struct pollfd polled[POLLED] = {
			[FROM_OUT] = {.fd = call->out.fd, .events = POLLIN},
			[FROM_ERR] = {.fd = call->err.fd, .events = POLLIN},
			[FROM_CLIENT] = {.fd = dump_serve_lines_wanted(&serving->lines) ? serving->lines.fd : -1,
					 .events = POLLIN},
			[TO_CLIENT] = {.fd = STDOUT_FILENO},
		};

		if (now_nanoseconds() - begin > serving->server->timeout)
			dump_serve_call_stop(call, DUMP_SERVE_OUT_OF_TIME);
		if (poll(polled, POLLED, POLL_MILLISECONDS) < 0 && errno != EINTR)
			return common_fail_errno("cannot wait for the command");
		if (polled[TO_CLIENT].revents & (POLLERR | POLLHUP))
			return common_fail(PTL_CANCELLED, "the client has gone");
		if (polled[FROM_OUT].revents)
			status = dump_serve_call_read(call, &call->out);
		if (!status && polled[FROM_ERR].revents)
			status = dump_serve_call_read(call, &call->err);
		if (!status && polled[FROM_CLIENT].revents)
			status = read_meanwhile(serving, request, call);
	}
	return status;
}

static int answer_result(const struct serving *serving, const struct dump_serve_request *request,
			 struct dump_serve_call *call)
{
	struct common_json *json = begin_answer(serving, request);
	int status;

	common_json_object(json, "result");
	status = dump_serve_call_result(call, json);
	common_json_object_end(json);
	return status ? status : end_answer(serving);
}

/* A call without a use for its answer is not made. */
static int answer_call(struct serving *serving, const struct dump_serve_request *request)
{
	const struct dump_serve_server *server = serving->server;
	const struct common_json_value *arguments = common_json_member(request->params, "arguments");
	struct dump_serve_call call = {
		.tool = dump_serve_tool_find(server->tools, common_json_member(request->params, "name")),
		.out = {.fd = -1},
		.err = {.fd = -1},
	};
	const struct dump_serve_output *output;
	int status = call.tool ? dump_serve_words_make(&call.words, call.tool, arguments, server->run->path)
			       : common_fail(PTL_MISUSE, "name: there is no such tool");

	if (status) {
		dump_serve_call_free(&call);
		return status == PTL_MISUSE ? answer_error(serving, request, DUMP_SERVE_INVALID_PARAMS) : status;
	}
	output = dump_serve_cache_find(&serving->cache, &call.words.list);
	status = output ? dump_serve_call_repeat(&call, output) : dump_serve_call_start(&call, server->prepared);
	if (status == PTL_SYSTEM) {
		dump_serve_call_free(&call);
		return answer_error(serving, request, DUMP_SERVE_INTERNAL_ERROR);
	}
	if (!status && !output)
		status = wait_for_call(serving, request, &call);
	if (!status && call.stop != DUMP_SERVE_CANCELLED)
		status = answer_result(serving, request, &call);
	if (!status && !output)
		dump_serve_call_keep(&call, &serving->cache);
	dump_serve_call_free(&call);
	return status;
}

/* ---- requests ------------------------------------------------------------------------------------ */

static int serve_request(struct serving *serving, const struct dump_serve_request *request)
{
	/* Notifications ask for nothing here; an unknown method without an id gets no answer, either. */
	if (!request->method || !request->id)
		return 0;
	if (strcmp(request->method, "initialize") == 0)
		return answer_initialize(serving, request);
	if (strcmp(request->method, "ping") == 0)
		return answer_nothing(serving, request);
	if (strcmp(request->method, "tools/list") == 0)
		return answer_list(serving, request);
	if (strcmp(request->method, "tools/call") == 0)
		return answer_call(serving, request);
	(void)common_fail(PTL_MISUSE, "there is no method %.64s", request->method);
	return answer_error(serving, request, DUMP_SERVE_UNKNOWN_METHOD);
}

static bool is_blank(const struct dump_serve_line *line)
{
	return line->text && strspn(line->text, " \t\r") == line->size;
}

static int serve_line(struct serving *serving, const struct dump_serve_line *line)
{
	struct dump_serve_request request = {0};
	int error;

	if (is_blank(line))
		return 0;
	if (!line->text) {
		(void)common_fail(PTL_MISUSE, "a message of more than %u bytes", DUMP_SERVE_LINE_MAX);
		return answer_error(serving, &request, DUMP_SERVE_INVALID_REQUEST);
	}
	error = dump_serve_request_read(line->text, line->size, &serving->arena, &request);
	if (!error)
		return serve_request(serving, &request);
	/* Wrong parameters of a notification get no answer. */
	return error == DUMP_SERVE_INVALID_PARAMS && !request.id ? 0 : answer_error(serving, &request, error);
}

int dump_serve(const struct dump_serve_server *server)
{
	struct serving serving = {.server = server, .lines = {.fd = server->requests}};
	int status = 0;

	while (!status && (serving.lines.count || !serving.lines.ended)) {
		struct dump_serve_line line;

		if (!serving.lines.count) {
			status = dump_serve_lines_read(&serving.lines);
			continue;
		}
		line = dump_serve_lines_take(&serving.lines, 0);
		status = serve_line(&serving, &line);
		free(line.text);
		common_arena_reset(&serving.arena);
	}
	common_arena_free(&serving.arena);
	dump_serve_cache_free(&serving.cache);
	dump_serve_lines_free(&serving.lines);
	return status;
}
