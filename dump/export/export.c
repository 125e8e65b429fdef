/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared parts of all exports. */
#include "dump/export/export.h"

#include <stdarg.h>
#include <stdio.h>

#include "common/error.h"
#include "common/program/message.h"
#include "common/text/text.h"

int dump_export_refuse_terminal(const struct dump_run *run)
{
	if (!dump_output_is_terminal(run))
		return 0;
	return common_fail(PTL_MISUSE, "the output is for other programs, and standard output is a terminal; -o FILE "
				       "writes the output to a file");
}

static void separate(struct dump_left_out *left_out)
{
	if (left_out->text.size)
		common_text_add(&left_out->text, "; ");
}

void dump_left_out_add(struct dump_left_out *left_out, uint64_t count, const char *one, const char *many)
{
	if (!count)
		return;
	separate(left_out);
	common_text_count(&left_out->text, count);
	common_text_add(&left_out->text, " ");
	common_text_add(&left_out->text, count == 1 ? one : many);
}

void dump_left_out_say(struct dump_left_out *left_out, const char *format, ...)
{
	char words[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(words, sizeof(words), format, arguments);
	va_end(arguments);
	separate(left_out);
	common_text_add(&left_out->text, words);
}

const char *dump_left_out_text(struct dump_left_out *left_out)
{
	return left_out->text.size ? common_text_string(&left_out->text) : NULL;
}

void dump_left_out_report(struct dump_left_out *left_out)
{
	if (left_out->text.size)
		common_message_warning("left out: %s", common_text_string(&left_out->text));
}

void dump_left_out_free(struct dump_left_out *left_out)
{
	common_bytes_free(&left_out->text);
}
