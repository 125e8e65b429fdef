/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of addresses, from symbol tables in the trace, and from files of this machine with the correct build id. */
#ifndef FLOW_SYMBOL_SYMBOL_H
#define FLOW_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/timeline/timeline.h"

struct flow_symbols;

/* Names of functions in text. */
enum flow_names {
	FLOW_NAMES_LINKER, /* as symbol tables have them */
	FLOW_NAMES_WHOLE,  /* demangled */
	FLOW_NAMES_SHORT,  /* demangled, without parameters and template arguments: query/name_form.h */
};

/* Function that covers an address. */
struct flow_symbol {
	const char *name; /* linker name, valid as long as the flow_symbols */
	uint64_t offset;  /* offset of the address in the function */
	uint64_t size;    /* bytes of the function; 0: unknown */
};

/*
 * Opens the symbols. A symbol table is read at the first request for an address of its image. Images with equal tables
 * share a table. All functions below may be called from several threads. trace and timeline must outlive the symbols.
 * Returns PTL_NO_MEMORY.
 */
int flow_symbols_open(struct ptl_trace *trace, const struct flow_timeline *timeline, enum flow_names names,
		      struct flow_symbols **symbols);
void flow_symbols_close(struct flow_symbols *symbols);

/* Returns the number of unreadable tables, whose names are missing. */
size_t flow_symbols_unreadable(const struct flow_symbols *symbols);

/* See flow_timeline_made_replaced. */
size_t flow_symbols_replaced(const struct flow_symbols *symbols);

/*
 * Finds the symbol of an address. image is an index in the timeline, or FLOW_NONE. Returns false if no named symbol
 * covers address.
 */
bool flow_symbols_find(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct flow_symbol *symbol);

/* A range of addresses with an equal result. */
struct flow_symbol_span {
	uint64_t first, last; /* both inclusive; within the image */
	const char *name;     /* NULL: no name; valid as long as the flow_symbols */
	uint64_t start;       /* begin of the symbol or unnamed function, possibly outside of the span */
	uint8_t type;         /* type as in ptl/symbols.h; 0: no symbol covers the span */
};

/*
 * Returns all symbols of an image, valid as long as the flow_symbols; NULL: no symbols. Addresses are in the file's
 * address space.
 */
const struct ptl_symbol_table *flow_symbols_table(struct flow_symbols *symbols, const struct ptl_image_event *image);

/*
 * Finds the span of an address, for callers with many requests. Returns false if image is no image. A symbol may have
 * several spans.
 */
bool flow_symbols_span(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct flow_symbol_span *span);

/*
 * Finds the lowest address of a symbol with this name in the image. Returns false if no symbol has the name. Searches
 * all symbols.
 */
bool flow_symbols_lowest(struct flow_symbols *symbols, uint32_t image, const char *name, size_t name_size,
			 uint64_t *address);

/*
 * Appends the whole name, which identifies a function: demangled unless demangling is switched off. Not made safe for a
 * terminal.
 */
void flow_symbols_name(const struct flow_symbols *symbols, const char *name, struct ptl_bytes *text);
/* As flow_symbols_name, but the name as text shows it, possibly short. */
void flow_symbols_shown_name(const struct flow_symbols *symbols, const char *name, struct ptl_bytes *text);

/* Appends the image's name, such as "gzip", safe for a terminal; "[no image]" without an image. */
void flow_symbols_image(struct flow_symbols *symbols, uint32_t image, struct ptl_bytes *text);
/*
 * Appends "deflate+0x1f", safe for a terminal; without a symbol "+0x4a10", the address in the file's address space, as
 * objdump shows addresses; without an image "-".
 */
void flow_symbols_symbol(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct ptl_bytes *text);
/* Appends symbol and image: "deflate+0x1f (gzip)"; without an image "[no image]". */
void flow_symbols_text(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct ptl_bytes *text);

/* Converts an address of an image to the file's address space. */
uint64_t flow_image_address(const struct flow_timeline_image *image, uint64_t address);

#endif
