/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds the code that a site of a ptwrite statement names. */
#ifndef RELOG_RULES_SITES_H
#define RELOG_RULES_SITES_H

#include "common/bytes.h"
#include "flow/code/code.h"
#include "flow/symbol/source_line.h"
#include "flow/symbol/symbol.h"
#include "relog/rules/ast.h"

/* The code of a trace. Owns its members. */
struct rules_code_names {
	struct flow_timeline *timeline;
	struct flow_symbols *symbols;
	struct flow_sources *sources;
	struct flow_code *code; /* NULL: no code was needed */
};

/* Opens the names of the trace. Returns PTL_NO_MEMORY, or an error of reading. Call rules_code_names_close in any case. */
int rules_code_names_open(struct rules_code_names *names, struct ptl_trace *trace);
void rules_code_names_close(struct rules_code_names *names);

/* An instruction that was executed. */
struct rules_instruction {
	uint32_t image;   /* index in the timeline; FLOW_NONE */
	uint64_t address; /* address in the process */
};

/* Whether the site names the instruction. */
bool rules_site_has(const struct rules_code_names *names, const struct rules_site *site,
		    const struct rules_instruction *instruction);
/* Appends the whole name of the function with the instruction; nothing without a name. */
void rules_function_of(const struct rules_code_names *names, const struct rules_instruction *instruction,
		       struct ptl_bytes *text);

/* Result of the search for the code of a site. A larger number is a better result. */
enum rules_site_finding {
	RULES_SITE_NO_IMAGE,       /* no image is called so */
	RULES_SITE_NO_NAME,        /* no function, or no source line */
	RULES_SITE_OUTSIDE,        /* the address is outside of the image or function */
	RULES_SITE_NO_INSTRUCTION, /* the instruction is no PTWRITE */
	RULES_SITE_NOT_EXECUTED,   /* no PTWRITE was executed in the code */
	RULES_SITE_TAKEN,          /* an earlier site has the instruction */
};

/* Searches the code of a site that no executed PTWRITE has. Appends similar names of functions to *near. */
struct query_near;
enum rules_site_finding rules_site_search(const struct rules_code_names *names, const struct rules_site *site,
					  struct query_near *near);

#endif
