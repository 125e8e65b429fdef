/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs of processes: turns strings into a path and a command line. */
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/quote.h"
#include "record/model/model_state.h"

#define COMMAND_LINE_MAX ((size_t)256 << 10) /* longer lines are cut; an event holds a megabyte */

/* Returns the next string and its length; NULL at the end. Accepts a last string without a zero. */
static const char *next_string(const struct record_program *program, size_t *at, size_t *length)
{
	const char *string;

	if (*at >= program->size)
		return NULL;
	string = (const char *)program->strings + *at;
	*length = strnlen(string, program->size - *at);
	*at += *length + 1;
	return string;
}

/* Returns an absolute path in fresh memory. */
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

static char *make_command_line(const struct record_program *program, size_t at)
{
	struct ptl_bytes out = {0};
	const char *word;
	size_t length;

	while ((word = next_string(program, &at, &length)) && out.size < COMMAND_LINE_MAX) {
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

/* Returns the first word of the command line without folders, in fresh memory. */
static char *make_word(const struct record_program *program, size_t at)
{
	size_t length = 0;
	const char *word = next_string(program, &at, &length);
	const char *slash = word ? memrchr(word, '/', length) : NULL;

	return slash ? strndup(slash + 1, length - (size_t)(slash + 1 - word)) : strndup(word ? word : "", length);
}

/* Sets path, command line and word from the strings. */
static int take_strings(struct record_process *process, const struct record_program *program)
{
	size_t at = 0, length = 0, ignored = 0, folder_length = 0;
	const char *path = next_string(program, &at, &length);
	char *made_path, *made_line, *made_word;
	const char *folder;

	(void)next_string(program, &at, &ignored);
	folder = next_string(program, &at, &folder_length);
	made_path = make_path(path ? path : "", length, folder, folder_length);
	made_line = make_command_line(program, at);
	made_word = make_word(program, at);
	if (!made_path || !made_line || !made_word) {
		free(made_path);
		free(made_line);
		free(made_word);
		return common_fail_memory("command line", 0);
	}
	free(process->path);
	free(process->command_line);
	free(process->word);
	process->word = made_word;
	process->path = made_path;
	process->command_line = made_line;
	return 0;
}

int record_start(struct record_model *model, struct record_process *process, uint64_t start_address)
{
	const uint8_t opcode = process->found ? PTL_OPCODE_START_RUNDOWN : PTL_OPCODE_START;
	int status;

	if (process->started)
		return 0;
	process->started = true;
	status = record_emit_process(model, process, opcode, process->start_time);
	return status < 0 ? status
			  : record_emit_thread(model, process, opcode, process->first_tid, "", start_address,
					       process->start_time);
}

int record_exec(struct record_model *model, struct record_process *process, const struct record_program *program,
		uint64_t start_address, uint64_t time)
{
	int status = take_strings(process, program);

	if (status < 0)
		return status;
	return process->started ? record_emit_process(model, process, PTL_OPCODE_EXEC, time)
				: record_start(model, process, start_address);
}
