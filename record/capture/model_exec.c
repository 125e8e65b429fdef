/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs that processes run: their strings come in pieces and become a path and a command line.
 */
#include <stdlib.h>

#include "common/error.h"
#include "common/quote.h"
#include "record/capture/model_state.h"

#define EXEC_BYTES_MAX (8u << 20)            /* more than Linux allows arguments to take */
#define COMMAND_LINE_MAX ((size_t)256 << 10) /* longer ones are cut; an event holds a megabyte */

int record_exec_start(struct record_process *process, const struct qemu_message_exec *message)
{
	struct record_exec *exec = &process->exec;

	common_bytes_free(&exec->bytes);
	exec->pending = true;
	exec->total = message->total > EXEC_BYTES_MAX ? EXEC_BYTES_MAX : message->total;
	exec->time = message->header.time;
	exec->start_address = message->start_address;
	return 0;
}

int record_exec_bytes(struct record_model *model, struct record_process *process,
		      const struct qemu_message_exec_bytes *message)
{
	struct record_exec *exec = &process->exec;

	/* Pieces come in order; one that does not fit is left out with all behind it. */
	if (!exec->pending || message->offset != exec->bytes.size || message->length > exec->total - exec->bytes.size)
		return 0;
	common_write_bytes(&exec->bytes, message + 1, message->length);
	if (exec->bytes.failed)
		return common_fail_memory("command line", exec->total);
	return exec->bytes.size == exec->total ? record_exec_complete(model, process) : 0;
}

/* The next string, and its length; NULL at the end. A last one without its zero counts. */
static const char *next_string(struct ptl_bytes *bytes, size_t *at, size_t *length)
{
	const char *string;

	if (*at >= bytes->size)
		return NULL;
	string = (const char *)bytes->data + *at;
	*length = strnlen(string, bytes->size - *at);
	*at += *length + 1;
	return string;
}

/* Path made absolute; fresh memory. */
static char *make_path(const char *path, size_t length, const char *folder, size_t folder_length)
{
	struct ptl_bytes out = {0};

	if (length && path[0] != '/' && folder_length) {
		common_write_bytes(&out, folder, folder_length);
		if (folder[folder_length - 1] != '/')
			common_write_bytes(&out, "/", 1);
	}
	common_write_bytes(&out, path, length);
	common_write_bytes(&out, "", 1);
	if (out.failed)
		common_bytes_free(&out);
	return (char *)out.data;
}

static char *make_command_line(struct ptl_bytes *bytes, size_t at)
{
	struct ptl_bytes out = {0};
	const char *word;
	size_t length;

	while ((word = next_string(bytes, &at, &length)) && out.size < COMMAND_LINE_MAX) {
		if (out.size)
			common_write_bytes(&out, " ", 1);
		common_quote_word_n(&out, word, length);
	}
	if (out.size > COMMAND_LINE_MAX) {
		out.size = COMMAND_LINE_MAX;
		common_write_bytes(&out, "...", 3);
	}
	common_write_bytes(&out, "", 1);
	if (out.failed)
		common_bytes_free(&out);
	return (char *)out.data;
}

/* Takes path and command line out of the strings: path, script, working directory, arguments. */
static int take_strings(struct record_process *process)
{
	struct ptl_bytes *bytes = &process->exec.bytes;
	size_t at = 0, length = 0, ignored = 0, folder_length = 0;
	const char *path = next_string(bytes, &at, &length);
	char *made_path, *made_line;
	const char *folder;

	(void)next_string(bytes, &at, &ignored);
	folder = next_string(bytes, &at, &folder_length);
	made_path = make_path(path ? path : "", length, folder, folder_length);
	made_line = make_command_line(bytes, at);
	common_bytes_free(bytes);
	if (!made_path || !made_line) {
		free(made_path);
		free(made_line);
		return common_fail_memory("command line", 0);
	}
	free(process->path);
	free(process->command_line);
	process->path = made_path;
	process->command_line = made_line;
	return 0;
}

int record_exec_complete(struct record_model *model, struct record_process *process)
{
	struct record_exec *exec = &process->exec;
	const bool first = !process->started;
	int status = 0;

	if (exec->pending) {
		exec->pending = false;
		status = take_strings(process);
	} else if (!first) {
		return 0;
	}
	process->started = true;
	if (status < 0)
		return status;
	if (!first)
		return record_emit_process(model, process, PTL_OPCODE_EXEC, exec->time);
	status = record_emit_process(model, process, process->found ? PTL_OPCODE_START_RUNDOWN : PTL_OPCODE_START,
				     process->start_time);
	return status < 0 ? status
			  : record_emit_thread(model, process,
					       process->found ? PTL_OPCODE_START_RUNDOWN : PTL_OPCODE_START,
					       process->first_tid, "", exec->start_address, process->start_time);
}
