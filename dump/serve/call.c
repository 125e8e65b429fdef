/* SPDX-License-Identifier: BSD-2-Clause */
#include "dump/serve/call.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"

#define READ_SIZE 65536u
#define MESSAGE_MAX 4096u /* bytes of a message */

/* ---- the child ----------------------------------------------------------------------------------- */

static int run_child(const struct dump_serve_call *call, struct dump_prepared *prepared, int out, int err)
{
	const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
	const int count = (int)call->words.list.count;
	char **words = calloc((size_t)count + 1, sizeof(*words));

	if (!words || nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(err, STDERR_FILENO) < 0)
		return COMMON_EXIT_SYSTEM;
	for (int i = 0; i < count; i++)
		words[i] = strdup(call->words.list.list[i]);
	return dump_command_prepared(call->tool->command, count, words, prepared);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int dump_serve_call_start(struct dump_serve_call *call, struct dump_prepared *prepared)
{
	const pid_t parent = getpid();
	int out[2] = {-1, -1}, err[2] = {-1, -1};
	int status = 0;

	call->out.fd = call->err.fd = -1;
	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0)
		status = common_fail_errno("cannot make a pipe");
	call->pid = status ? 0 : fork();
	if (call->pid < 0) {
		status = common_fail_errno("cannot start a process");
		call->pid = 0;
	} else if (!status && call->pid == 0) {
		/* The child does not outlive the server. */
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
			_exit(COMMON_EXIT_SYSTEM);
		_exit(run_child(call, prepared, out[1], err[1]));
	}
	close_fd(&out[1]);
	close_fd(&err[1]);
	call->out.fd = out[0];
	call->err.fd = err[0];
	return status;
}

void dump_serve_call_stop(struct dump_serve_call *call, enum dump_serve_stop why)
{
	if (!call->pid || call->stop != DUMP_SERVE_RUNS)
		return;
	call->stop = why;
	kill(call->pid, SIGKILL);
}

static void reap_child(struct dump_serve_call *call)
{
	while (call->pid && waitpid(call->pid, &call->ended, 0) < 0 && errno == EINTR)
		;
	call->pid = 0;
}

void dump_serve_call_free(struct dump_serve_call *call)
{
	dump_serve_call_stop(call, DUMP_SERVE_CANCELLED);
	reap_child(call);
	close_fd(&call->out.fd);
	close_fd(&call->err.fd);
	common_bytes_free(&call->out.line);
	common_bytes_free(&call->err.line);
	common_bytes_free(&call->out.whole);
	common_bytes_free(&call->err.whole);
	common_bytes_free(&call->records);
	common_bytes_free(&call->messages);
	dump_serve_words_free(&call->words);
}

/* ---- its output ---------------------------------------------------------------------------------- */

static void add_message(struct dump_serve_call *call, const char *text, size_t size)
{
	call->message_seen++;
	if (call->message_count == DUMP_SERVE_MESSAGES_MAX)
		return;
	call->message_count++;
	common_write_bytes(&call->messages, text, size);
	common_write_bytes(&call->messages, "\n", 1);
}

static void add_record(struct dump_serve_call *call)
{
	const struct dump_serve_pipe *out = &call->out;
	const uint64_t number = call->seen++;
	char text[160];
	int size;

	if (number < call->words.skip || call->full || call->kept == call->words.limit)
		return;
	if (out->line_size > DUMP_SERVE_ANSWER_MAX) {
		size = snprintf(text, sizeof(text),
				"ptl-dump serve: record %" PRIu64 " has %" PRIu64
				" bytes, more than an answer may have",
				number, out->line_size);
		add_message(call, text, (size_t)size);
		call->kept++;
		return;
	}
	call->full = call->records.size + out->line.size + 1 > DUMP_SERVE_ANSWER_MAX;
	if (call->full)
		return;
	if (call->records.size)
		common_write_bytes(&call->records, ",", 1);
	common_write_bytes(&call->records, out->line.data, out->line.size);
	call->kept++;
}

static void end_line(struct dump_serve_call *call, struct dump_serve_pipe *pipe)
{
	if (pipe == &call->out)
		add_record(call);
	else
		add_message(call, (const char *)pipe->line.data, pipe->line.size);
	pipe->line.size = 0;
	pipe->line_size = 0;
}

static void add_piece(const struct dump_serve_call *call, struct dump_serve_pipe *pipe, const char *piece, size_t size)
{
	const size_t most = pipe == &call->out ? DUMP_SERVE_ANSWER_MAX : MESSAGE_MAX;

	pipe->line_size += size;
	if (pipe->line_size <= most)
		common_write_bytes(&pipe->line, piece, size);
}

/* Keeps bytes for the cache. */
static void keep_piece(struct dump_serve_call *call, struct dump_serve_pipe *pipe, const char *piece, size_t size)
{
	call->not_kept |= pipe->whole.size + size > DUMP_SERVE_CACHE_OUTPUT;
	if (!call->not_kept)
		common_write_bytes(&pipe->whole, piece, size);
	else
		common_bytes_free(&pipe->whole);
	call->not_kept |= pipe->whole.failed;
}

/* Takes bytes of output. */
static int take_bytes(struct dump_serve_call *call, struct dump_serve_pipe *pipe, const char *bytes, size_t size)
{
	const char *at = bytes;

	for (const char *end; (end = memchr(at, '\n', (size_t)(bytes + size - at))); at = end + 1) {
		add_piece(call, pipe, at, (size_t)(end - at));
		end_line(call, pipe);
	}
	add_piece(call, pipe, at, (size_t)(bytes + size - at));
	pipe->read += size;
	if (pipe->line.failed || call->records.failed || call->messages.failed)
		return common_fail_memory("an answer", call->records.size);
	return 0;
}

int dump_serve_call_repeat(struct dump_serve_call *call, const struct dump_serve_output *output)
{
	int status = 0;

	if (output->out.size)
		status = take_bytes(call, &call->out, (const char *)output->out.data, output->out.size);
	if (!status && output->err.size)
		status = take_bytes(call, &call->err, (const char *)output->err.data, output->err.size);
	call->ended = output->ended;
	return status;
}

int dump_serve_call_read(struct dump_serve_call *call, struct dump_serve_pipe *pipe)
{
	char piece[READ_SIZE];
	const ssize_t size = read(pipe->fd, piece, sizeof(piece));
	int status;

	if (size < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (size <= 0) {
		close_fd(&pipe->fd);
		return 0;
	}
	keep_piece(call, pipe, piece, (size_t)size);
	status = take_bytes(call, pipe, piece, (size_t)size);
	if (pipe->read > DUMP_SERVE_OUTPUT_MAX)
		dump_serve_call_stop(call, DUMP_SERVE_ENDLESS);
	return status;
}

bool dump_serve_call_is_over(const struct dump_serve_call *call)
{
	return call->out.fd < 0 && call->err.fd < 0;
}

/* ---- the result ---------------------------------------------------------------------------------- */

static void write_messages(const struct dump_serve_call *call, struct common_json *json)
{
	const char *at = (const char *)call->messages.data, *end;

	common_json_array(json, "messages");
	for (uint64_t i = 0; i < call->message_count; i++, at = end + 1) {
		end = strchr(at, '\n');
		common_json_string_n(json, NULL, at, (size_t)(end - at));
	}
	common_json_array_end(json);
	common_json_u64(json, "messages_left_out", call->message_seen - call->message_count);
}

static bool did_exit(const struct dump_serve_call *call)
{
	return WIFEXITED(call->ended) && call->stop == DUMP_SERVE_RUNS;
}

static void write_content(const struct dump_serve_call *call, struct common_json *json)
{
	const uint64_t behind = call->words.skip + call->kept;
	const uint64_t left = call->seen > behind ? call->seen - behind : 0;
	const bool more = call->stop != DUMP_SERVE_RUNS;

	common_json_object(json, NULL);
	common_json_array(json, "records");
	if (call->records.size)
		common_json_raw(json, NULL, (const char *)call->records.data, call->records.size);
	common_json_array_end(json);
	common_json_u64(json, "left_out", left);
	common_json_bool(json, "left_out_more", more);
	if (left)
		common_json_u64(json, "next", behind);
	else
		common_json_null(json, "next");
	write_messages(call, json);
	if (did_exit(call))
		common_json_i64(json, "exit_status", WEXITSTATUS(call->ended));
	else
		common_json_null(json, "exit_status");
	common_json_object_end(json);
}

void dump_serve_call_keep(struct dump_serve_call *call, struct dump_serve_cache *cache)
{
	const struct dump_serve_pipe *pipes[] = {&call->out, &call->err};
	bool cut = false;

	/* Incomplete output ends within a line. */
	for (size_t i = 0; i < 2; i++)
		cut |= pipes[i]->line_size != 0;
	if (!call->not_kept && !cut && !call->tool->reads_sources && did_exit(call) &&
	    WEXITSTATUS(call->ended) != COMMON_EXIT_SYSTEM)
		dump_serve_cache_keep(cache, &call->words.list, &call->out.whole, &call->err.whole, call->ended);
}

/* Adds a message about a child that was stopped or crashed. */
static void explain_end(struct dump_serve_call *call)
{
	char text[160];
	int size = 0;

	if (call->stop == DUMP_SERVE_OUT_OF_TIME)
		size = snprintf(text, sizeof(text), "ptl-dump serve: stopped: out of time (--timeout)");
	else if (call->stop == DUMP_SERVE_ENDLESS)
		size = snprintf(text, sizeof(text), "ptl-dump serve: stopped after %" PRIu64 " bytes of output",
				call->out.read + call->err.read);
	else if (!WIFEXITED(call->ended))
		size = snprintf(text, sizeof(text), "ptl-dump serve: ptl-dump %s was ended by signal %d",
				call->tool->command->name, WTERMSIG(call->ended));
	if (!size)
		return;
	/* The explanation is never left out. */
	call->message_count -= call->message_count == DUMP_SERVE_MESSAGES_MAX;
	call->message_seen--;
	add_message(call, text, (size_t)size);
}

static bool is_error(const struct dump_serve_call *call)
{
	if (call->stop == DUMP_SERVE_ENDLESS)
		return false;
	return !did_exit(call) || WEXITSTATUS(call->ended) == COMMON_EXIT_USAGE ||
	       WEXITSTATUS(call->ended) == COMMON_EXIT_SYSTEM ||
	       (WEXITSTATUS(call->ended) == COMMON_EXIT_INPUT && !call->seen);
}

int dump_serve_call_result(struct dump_serve_call *call, struct common_json *json)
{
	struct common_json content;
	size_t size = 0;
	char *text = NULL;
	FILE *file;

	reap_child(call);
	explain_end(call);
	file = open_memstream(&text, &size);
	if (!file)
		return common_fail_memory("an answer", call->records.size);
	common_json_start(&content, file);
	write_content(call, &content);
	if (fclose(file) != 0) {
		free(text);
		return common_fail_memory("an answer", call->records.size);
	}
	common_json_array(json, "content");
	common_json_object(json, NULL);
	common_json_string(json, "type", "text");
	common_json_string_n(json, "text", text, size);
	common_json_object_end(json);
	common_json_array_end(json);
	common_json_raw(json, "structuredContent", text, size);
	common_json_bool(json, "isError", is_error(call));
	free(text);
	return 0;
}
