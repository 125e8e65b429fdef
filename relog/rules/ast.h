/* SPDX-License-Identifier: BSD-2-Clause */
/* Syntax tree of a rule file. All nodes and zero-terminated strings live in one arena. */
#ifndef RELOG_RULES_AST_H
#define RELOG_RULES_AST_H

#include <ptl/event.h>

#include "query/expression.h"

struct rules_ranges {
	struct rules_range {
		uint64_t first;
		uint64_t last;
	} * range;
	size_t count; /* 0: not given; every value matches */
};

struct rules_moment {
	bool given;
	bool absolute; /* time of the trace's clock; else time since the start of the trace */
	uint64_t time;
};

struct rules_provider {
	struct rules_provider *next;
	struct query_place at;
	const char *alias;
	bool has_guid;
	struct ptl_guid guid;
	const char *name; /* name in schemas; NULL: not reported */
};

enum rules_criterion {
	RULES_MATCH_ID,
	RULES_MATCH_VERSION,
	RULES_MATCH_OPCODE,
	RULES_MATCH_CHANNEL,
	RULES_MATCH_LEVEL,
	RULES_MATCH_TASK,
	RULES_MATCH_CPU,
	RULES_MATCH_PID,
	RULES_MATCH_TID,
	RULES_MATCHES,
};

/* Properties of an image, process or thread, set by actions and image statements. */
enum rules_property {
	RULES_PROPERTY_PID,
	RULES_PROPERTY_TID,
	RULES_PROPERTY_TIME,
	RULES_PROPERTY_BASE,
	RULES_PROPERTY_SIZE,
	RULES_PROPERTY_PATH,
	RULES_PROPERTY_FILE_OFFSET,
	RULES_PROPERTY_PROTECTION,
	RULES_PROPERTY_DEFAULT_BASE,
	RULES_PROPERTY_BUILD_ID,
	RULES_PROPERTY_DEBUG,
	RULES_PROPERTY_RVA,
	RULES_PROPERTY_PARENT,
	RULES_PROPERTY_COMMAND,
	RULES_PROPERTY_STATUS,
	RULES_PROPERTY_KEY,
	RULES_PROPERTY_NAME,
	RULES_PROPERTY_START,
	RULES_PROPERTY_SYMBOL,
	RULES_PROPERTIES, /* the properties above are expressions */
	RULES_PROPERTY_LOAD = RULES_PROPERTIES,
	RULES_PROPERTY_UNLOAD,
	RULES_PROPERTY_CODE,
	RULES_PROPERTY_SYMBOLS,
	RULES_PROPERTY_NAMES,
};
extern const char *const rules_property_names[RULES_PROPERTY_NAMES];

struct rules_section {
	struct rules_section *next;
	struct query_place at;
	const char *name;
	bool has_loop; /* the section is repeated for each element of an array */
	struct query_loop loop;
	struct query_expr *property[RULES_PROPERTIES];
};

/* When an image is loaded. MEMORY (whole perf map): whenever anonymous memory becomes executable, at any address. */
enum rules_load { RULES_LOAD_START, RULES_LOAD_TIME, RULES_LOAD_MAPPED, RULES_LOAD_MEMORY };
enum rules_code { RULES_CODE_CAPTURED, RULES_CODE_FILE, RULES_CODE_RAW };
enum rules_symbols {
	RULES_SYMBOLS_NONE,
	RULES_SYMBOLS_NM,
	RULES_SYMBOLS_PERF_MAP,
	RULES_SYMBOLS_ELF,
};
enum rules_addressing {
	RULES_ADDRESS_DEFAULT,
	RULES_ADDRESS_RELATIVE,
	RULES_ADDRESS_ABSOLUTE,
	RULES_ADDRESS_FROM, /* symbols_base is the address in the symbol file that stands for the image's base */
};

/* Contents of the braces of an image, process or thread. */
struct rules_body {
	struct query_place at;
	struct query_expr *property[RULES_PROPERTIES];
	struct rules_section *sections;
	enum rules_load load;
	struct rules_moment load_time;
	uint32_t load_nth;               /* MAPPED: number of the memory's appearance, from 1 */
	struct rules_moment unload_time; /* not given: unload with the memory */
	enum rules_code code;
	struct query_expr *code_path, *code_offset;
	enum rules_symbols symbols;
	struct query_expr *symbols_path;
	enum rules_addressing addressing;
	struct query_expr *symbols_base;
};

enum rules_action_kind {
	RULES_ACTION_DROP,
	RULES_ACTION_KEEP,
	RULES_ACTION_SET_HEADER, /* index: enum query_header */
	RULES_ACTION_SET_FIELD,  /* index: index in the rule's fields */
	RULES_ACTION_ADD,
	RULES_ACTION_DELETE,
	RULES_ACTION_IMAGE_LOAD,
	RULES_ACTION_IMAGE_UNLOAD,
	RULES_ACTION_PROCESS, /* index: opcode */
	RULES_ACTION_THREAD,
	RULES_ACTION_FOR,
};

struct rules_action {
	struct rules_action *next;
	enum rules_action_kind kind;
	struct query_place at;
	unsigned index;
	struct query_expr *value;
	const struct rules_provider *provider; /* SET_HEADER of a provider given by alias */
	struct ptl_field field;                /* the field to add (ADD) */
	struct rules_body *body;
	struct query_loop loop;       /* FOR only */
	struct rules_action *actions; /* FOR: actions for each element */
};

struct rules_rule {
	struct rules_rule *next;
	uint32_t index; /* from 0, in file order */
	struct query_place at;
	const struct rules_provider *provider; /* NULL: any provider */
	struct rules_ranges match[RULES_MATCHES];
	bool has_keyword;
	uint64_t keyword;
	const char *process, *image; /* glob patterns, or NULL */
	struct rules_moment from, to;
	struct query_expr *where;
	struct rules_ranges nth;
	struct rules_action *actions;
	struct query_fields fields;
	bool reshapes; /* adds or deletes fields */
};

/* Names that a schema gives to the numbers of a field. */
struct rules_map {
	struct rules_map *next;
	struct ptl_map map; /* provider is filled in when the provider is known */
};

struct rules_schema {
	struct rules_schema *next;
	struct query_place at;
	const struct rules_provider *provider;
	struct ptl_schema schema; /* provider and provider_name are filled in when the provider is known */
	struct rules_map *maps;
};

enum rules_site_kind {
	RULES_SITE_FUNCTION, /* [IMAGE:]FUNCTION[+BYTES] */
	RULES_SITE_ADDRESS,  /* IMAGE:0xADDRESS */
	RULES_SITE_LINE,     /* FILE:LINE */
};

/* A place in the code, as the user writes it. */
struct rules_site {
	struct query_place at;
	const char *text;
	enum rules_site_kind kind;
	const char *image; /* glob pattern; NULL: any image */
	const char *name;  /* function or source file; NULL: ADDRESS */
	uint64_t number;   /* bytes behind the function's first byte, address in the image's file, or line */
	bool has_offset;   /* FUNCTION: only the instruction at `number` */
};

/* PTWRITE instructions that become events. */
struct rules_ptwrite {
	struct rules_ptwrite *next;
	struct query_place at;
	struct rules_site *sites;
	size_t site_count;
	struct rules_schema *schema; /* the events; also in the list of schemas */
	unsigned size;               /* bytes of the fields, 1 to 8 */
};

struct rules_image {
	struct rules_image *next;
	struct query_place at;
	const char *process; /* glob pattern, or NULL */
	uint32_t pid;        /* used if process is NULL */
	struct rules_body body;
};

struct rules_rename {
	struct rules_rename *next;
	struct query_place at;
	const char *pattern, *replacement;
};

/* A rule file. Zero-initialised has no rules. */
struct rules {
	struct common_arena arena;
	const char *name;   /* file name */
	const char *folder; /* folder of the file: "" for the current folder, else ends with a slash */
	const char *text;   /* contents of the file, zero-terminated */
	struct rules_provider *providers;
	struct rules_schema *schemas;
	struct rules_rule *rules;
	size_t rule_count;
	struct rules_image *images;
	struct rules_rename *renames;
	struct rules_ptwrite *ptwrites;
};

#endif
