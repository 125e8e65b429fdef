/* SPDX-License-Identifier: BSD-2-Clause */
/* The functions that a trace's code has: one number for each, whichever process and address it ran in. */
#ifndef DUMP_FUNCTION_FUNCTION_TABLE_H
#define DUMP_FUNCTION_FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/json.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/timeline.h"

/* No function is known. */
#define DUMP_NO_FUNCTION UINT32_MAX

#define DUMP_FUNCTION_NAMELESS                                                                                         \
	0x01u /* no symbol: known by unwind tables, or by the address that was called, or returned to */
#define DUMP_FUNCTION_STUB 0x02u     /* an entry of a PLT, or what it asks for its function's address */
#define DUMP_FUNCTION_TWICE 0x04u    /* may return several times: setjmp */
#define DUMP_FUNCTION_SWITCH 0x08u   /* goes on on another stack */
#define DUMP_FUNCTION_THUNK 0x10u    /* returns to what it was to jump to: against speculation */
#define DUMP_FUNCTION_UNWINDS 0x20u  /* goes on in the handler of an exception */
#define DUMP_FUNCTION_FINDER 0x40u   /* what unwinding calls for each frame */
#define DUMP_FUNCTION_PARKS 0x80u    /* its stack waits, while what it calls looks for another one to go on on */
#define DUMP_FUNCTION_JUMPS 0x200u   /* goes on where one of TWICE returned: longjmp */
#define DUMP_FUNCTION_UNKNOWN 0x100u /* none: all code of its file that no symbol or unwind table says anything of */

struct dump_function {
	const char *name;  /* as people want it; not made safe for a terminal; "" where nameless */
	const char *path;  /* of its file; "" without an image */
	const char *image; /* its last component; "[no image]" */
	uint64_t address;  /* where it begins in the file's own address space; of nameless ones where it was entered */
	unsigned flags;
};

/* A place in code: the span of addresses around it that are of the same function. */
struct dump_code_place {
	uint64_t first, last; /* both inclusive */
	uint64_t start;       /* where the symbol begins */
	uint32_t image;       /* index in the timeline, FLOW_NONE */
	uint32_t function;    /* DUMP_NO_FUNCTION: no symbol or unwind table tells */
	unsigned flags;       /* DUMP_FUNCTION_* of it, but for NAMELESS: what makes its calls different */
};

struct dump_function_table;

/* All functions may be called from several threads. symbols and timeline outlive it. PTL_NO_MEMORY. */
int dump_functions_open(const struct flow_timeline *timeline, struct flow_symbols *symbols,
			struct dump_function_table **table);
void dump_functions_close(struct dump_function_table *table);

/* What lies at an address of an image; without an image (FLOW_NONE) the address alone. PTL_NO_MEMORY. */
int dump_functions_place(struct dump_function_table *table, uint32_t image, uint64_t address,
			 struct dump_code_place *place);
/*
 * The function that begins where no symbol is. process (an index, FLOW_NONE) tells code of no image apart. PTL_NO_MEMORY.
 */
int dump_functions_nameless(struct dump_function_table *table, uint32_t process, uint32_t image, uint64_t address,
			    uint32_t *function);
/* What stands for all code of the image's file of which no function is known. PTL_NO_MEMORY. */
int dump_functions_unknown(struct dump_function_table *table, uint32_t image, uint32_t *function);
/* function is a number from above; DUMP_NO_FUNCTION gives one that is called "[unknown]". */
const struct dump_function *dump_function(const struct dump_function_table *table, uint32_t function);
size_t dump_functions_count(struct dump_function_table *table);

/* Appends "deflate", "+0x4a10", "0x7f0012345678" or "[no symbol]", safe for a terminal. */
void dump_function_text(const struct dump_function *function, struct ptl_bytes *text);
/* Adds "function" (null: no symbol names it), "image" and "address" to the open object. */
void dump_function_json(struct common_json *json, const struct dump_function *function);
/* Whether a pattern of --function and the like means it, as query/function_name.h has it. */
bool dump_function_matches(const struct dump_function *function, const char *pattern);

/*
 * Appends the name of a function as it is shown: what "memcpy@plt" stands for, "memcpy@@GLIBC_2.14" without its version, and of another
 * name the first `size` bytes; demangled. Without memory, text->failed.
 */
void dump_function_show_name(const struct flow_symbols *symbols, const char *name, size_t size, struct ptl_bytes *text);

#endif
