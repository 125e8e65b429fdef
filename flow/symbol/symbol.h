/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of addresses, from the symbol tables in the trace, and of files of this machine that have the right build id. */
#ifndef FLOW_SYMBOL_SYMBOL_H
#define FLOW_SYMBOL_SYMBOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/bytes.h"
#include "flow/timeline/timeline.h"

struct flow_symbols;

/* The function that covers an address. */
struct flow_symbol {
	const char *name; /* as the linker knows it; lives as long as the flow_symbols */
	uint64_t offset;  /* of the address in the function */
	uint64_t size;    /* of the function in bytes; 0: not known */
};

/*
 * A symbol table is read from the trace when an address of its image is first asked for, and is shared by
 * all images with the same one. All functions below may be called from several threads. trace and timeline
 * outlive it. PTL_NO_MEMORY.
 */
int flow_symbols_open(struct ptl_trace *trace, const struct flow_timeline *timeline, bool demangle,
		      struct flow_symbols **symbols);
void flow_symbols_close(struct flow_symbols *symbols);

/* Tables that could not be read, so that names are missing. */
size_t flow_symbols_unreadable(const struct flow_symbols *symbols);

/*
 * Functions that programs made at run time, and whose memory had other functions later. Names of what ran there are those of the
 * last ones, for all of the trace.
 */
size_t flow_symbols_replaced(const struct flow_symbols *symbols);

/* image is an index in the timeline or FLOW_NONE; false where no symbol with a name covers address. */
bool flow_symbols_find(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct flow_symbol *symbol);

/* Addresses around one that was asked for, and what covers them all alike. */
struct flow_symbol_span {
	uint64_t first, last; /* both inclusive; no more than the image */
	const char *name;     /* NULL: none; lives as long as the flow_symbols */
	uint64_t start;       /* where the symbol, or function without one, begins; not always within the span */
	uint8_t type;         /* as in ptl/symbols.h; 0: nothing covers them */
};

/* All that is known of an image, which lives as long as the flow_symbols; NULL: nothing. Addresses are the file's own. */
const struct ptl_symbol_table *flow_symbols_table(struct flow_symbols *symbols, const struct ptl_image_event *image);

/* For those who ask again and again: false where image is none. A symbol may have several spans. */
bool flow_symbols_span(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct flow_symbol_span *span);

/* The lowest address of a symbol of this name in the image; false where it has none. Goes through all of them. */
bool flow_symbols_lowest(struct flow_symbols *symbols, uint32_t image, const char *name, size_t name_size,
			 uint64_t *address);

/* Appends name as people want it: demangled unless that is switched off. Not made safe for a terminal. */
void flow_symbols_name(const struct flow_symbols *symbols, const char *name, struct ptl_bytes *text);

/* Appends "gzip", the image's name, safe for a terminal; "[no image]" where there is none. */
void flow_symbols_image(struct flow_symbols *symbols, uint32_t image, struct ptl_bytes *text);
/*
 * Appends "deflate+0x1f", safe for a terminal; without a symbol "+0x4a10", the address in the file's own address space,
 * as objdump shows it; without an image "-".
 */
void flow_symbols_symbol(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct ptl_bytes *text);
/* Appends both: "deflate+0x1f (gzip)"; without an image "[no image]". */
void flow_symbols_text(struct flow_symbols *symbols, uint32_t image, uint64_t address, struct ptl_bytes *text);

/* An address of an image in its file's own address space. */
uint64_t flow_image_address(const struct flow_timeline_image *image, uint64_t address);

#endif
