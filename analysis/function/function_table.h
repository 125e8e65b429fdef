/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers the functions of a trace's code. A function has one number in all processes and at all addresses. */
#ifndef ANALYSIS_FUNCTION_FUNCTION_TABLE_H
#define ANALYSIS_FUNCTION_FUNCTION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/text/json.h"
#include "flow/symbol/symbol.h"
#include "flow/timeline/timeline.h"

/* The function is unknown. */
#define ANALYSIS_NO_FUNCTION UINT32_MAX

#define ANALYSIS_FUNCTION_NAMELESS                                                                                     \
	0x01u /* no symbol: found by unwind tables, by the target address of a call, or by a return address */
#define ANALYSIS_FUNCTION_STUB 0x02u    /* a PLT entry, or the dynamic linker's resolver called by a PLT entry */
#define ANALYSIS_FUNCTION_TWICE 0x04u   /* may return several times: setjmp */
#define ANALYSIS_FUNCTION_SWITCH 0x08u  /* continues on another stack */
#define ANALYSIS_FUNCTION_THUNK 0x10u   /* returns to its jump target: a mitigation of speculation (retpoline) */
#define ANALYSIS_FUNCTION_UNWINDS 0x20u /* continues in an exception handler */
#define ANALYSIS_FUNCTION_FINDER 0x40u  /* called by the unwinder for each frame */
#define ANALYSIS_FUNCTION_PARKS 0x80u   /* its stack is suspended while the scheduler it calls picks another stack */
#define ANALYSIS_FUNCTION_JUMPS                                                                                        \
	0x200u /* continues where a function of kind ANALYSIS_FUNCTION_TWICE returned: longjmp */
#define ANALYSIS_FUNCTION_UNKNOWN 0x100u /* stands for all code of a file without symbol or unwind information */

struct analysis_function {
	const char *name;  /* whole name, not yet safe for a terminal; "" if nameless */
	const char *shown; /* name as text shows it, possibly short; equals `name` if the whole name is shown */
	const char *path;  /* path of its file; "" without an image */
	const char *image; /* last component of `path`; "[no image]" */
	uint32_t place;    /* index of an image with the function, or FLOW_NONE */
	/* start address in the file's own address space; of a nameless function: the entry address */
	uint64_t address;
	unsigned flags;
};

/* A place in code, with the range of addresses around the place that belongs to the same function. */
struct analysis_code_place {
	uint64_t first, last; /* bounds of the range, both inclusive */
	uint64_t start;       /* start address of the symbol */
	uint32_t image;       /* index in the timeline; FLOW_NONE */
	uint32_t function;    /* ANALYSIS_NO_FUNCTION: neither symbol nor unwind table covers the place */
	unsigned flags;       /* ANALYSIS_FUNCTION_* flags of the function that affect its calls; without NAMELESS */
};

struct analysis_function_table;

/*
 * Creates a table. All functions of the table are thread-safe. symbols and timeline must outlive the table. Returns 0
 * or PTL_NO_MEMORY.
 */
int analysis_functions_open(const struct flow_timeline *timeline, struct flow_symbols *symbols,
			    struct analysis_function_table **table);
void analysis_functions_close(struct analysis_function_table *table);

/*
 * Finds the place of an address in an image. Without an image (FLOW_NONE), the range has only the address. Returns 0 or
 * PTL_NO_MEMORY.
 */
int analysis_functions_place(struct analysis_function_table *table, uint32_t image, uint64_t address,
			     struct analysis_code_place *place);
/*
 * Finds or adds the function that begins at an address without a symbol. process: index in the timeline or FLOW_NONE;
 * distinguishes code without an image. Returns 0 or PTL_NO_MEMORY.
 */
int analysis_functions_nameless(struct analysis_function_table *table, uint32_t process, uint32_t image,
				uint64_t address, uint32_t *function);
/*
 * Finds or adds the pseudo-function for all code of the image's file without a known function. Returns 0 or
 * PTL_NO_MEMORY.
 */
int analysis_functions_unknown(struct analysis_function_table *table, uint32_t image, uint32_t *function);
/* Returns the function of a number. ANALYSIS_NO_FUNCTION returns a function called "[unknown]". */
const struct analysis_function *analysis_function(const struct analysis_function_table *table, uint32_t function);
size_t analysis_functions_count(struct analysis_function_table *table);

/* Appends "deflate", as text shows the name, "+0x4a10", "0x7f0012345678" or "[no symbol]", safe for a terminal. */
void analysis_function_text(const struct analysis_function *function, struct ptl_bytes *text);
/* Adds "function" (null: no symbol names it), "image" and "address" to the open object. */
void analysis_function_json(struct common_json *json, const struct analysis_function *function);
/* Whether the function matches a pattern of --function and similar options, by the rules of query/function_name.h. */
bool analysis_function_matches(const struct analysis_function *function, const char *pattern);

/*
 * Appends the name of a symbol, demangled: the target function of "memcpy@plt", "memcpy@@GLIBC_2.14" without its
 * version, of other symbols the first `size` bytes. add: flow_symbols_name or flow_symbols_shown_name. Sets
 * text->failed without memory.
 */
void analysis_function_add_name(const struct flow_symbols *symbols, const char *name, size_t size,
				void (*add)(const struct flow_symbols *symbols, const char *name,
					    struct ptl_bytes *text),
				struct ptl_bytes *text);

#endif
