/* SPDX-License-Identifier: BSD-2-Clause */
/* The tools of the server: commands of ptl-dump with some of their options. */
#ifndef DUMP_SERVE_TOOL_H
#define DUMP_SERVE_TOOL_H

#include "common/text/json_read.h"
#include "common/text/string_list.h"
#include "dump/run/command.h"

enum dump_serve_kind { DUMP_SERVE_TEXT, DUMP_SERVE_INTEGER, DUMP_SERVE_SWITCH };

/* An argument of a tool: an option of the command, with "_" for "-", or the operand. */
struct dump_serve_argument {
	const char *name; /* NULL ends a list */
	enum dump_serve_kind kind;
	const char *description;
	const char *const *choices; /* NULL-terminated; NULL: any text */
	bool operand;               /* required, and no option */
};

struct dump_serve_tool {
	const char *name; /* NULL ends a list */
	const char *title;
	const char *description;
	const struct dump_command *command;
	const struct dump_serve_argument *arguments;
	bool reads_sources; /* output shows lines of source files, so the cache keeps none */
};

#define DUMP_SERVE_LIMIT 100u       /* records of an answer, unless the client asks for another number */
#define DUMP_SERVE_LIMIT_MAX 10000u /* records of an answer */

/* A command line for a tool, and the part of the records that the client asks for. */
struct dump_serve_words {
	struct common_arena arena;
	struct common_string_list list; /* argv, without the final NULL */
	uint64_t skip, limit;           /* records */
};

/* Writes the members of tools/list to the open object. */
void dump_serve_tools_list(struct common_json *json, const struct dump_serve_tool *tools);
/* Returns the tool with this name; NULL: none. */
const struct dump_serve_tool *dump_serve_tool_find(const struct dump_serve_tool *tools,
						   const struct common_json_value *name);
/*
 * Makes the command line for the arguments, which may be NULL. path: the trace. Returns PTL_MISUSE for an unknown,
 * missing or wrong argument, PTL_NO_MEMORY. Call dump_serve_words_free in any case.
 */
int dump_serve_words_make(struct dump_serve_words *words, const struct dump_serve_tool *tool,
			  const struct common_json_value *arguments, const char *path);
void dump_serve_words_free(struct dump_serve_words *words);

#endif
