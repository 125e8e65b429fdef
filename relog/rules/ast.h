/* SPDX-License-Identifier: BSD-2-Clause */
/* A rule file as a tree. Everything is in one arena, zero-terminated and of one lifetime. */
#ifndef RELOG_RULES_AST_H
#define RELOG_RULES_AST_H

#include <ptl/event.h>

#include "query/expression.h"

struct rules_ranges {
	struct rules_range {
		uint64_t first;
		uint64_t last;
	} * range;
	size_t count; /* 0: not given, everything matches */
};

struct rules_moment {
	bool given;
	bool absolute; /* of the trace's clock, not from its start */
	uint64_t time;
};

struct rules_provider {
	struct rules_provider *next;
	struct query_place at;
	const char *alias;
	bool has_guid;
	struct ptl_guid guid;
	const char *name; /* what schemas call it; NULL: not reported */
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

/* Parts of an image, process or thread that actions and image statements state. */
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
	RULES_PROPERTIES, /* those above are expressions */
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
	bool has_loop; /* there is one for each element */
	struct query_loop loop;
	struct query_expr *property[RULES_PROPERTIES];
};

/* MEMORY: whenever memory without a name becomes executable, wherever that is: a whole perf map. */
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
	RULES_ADDRESS_FROM, /* a number that stands for the base */
};

/* What stands between { and } of an image, process or thread. */
struct rules_body {
	struct query_place at;
	struct query_expr *property[RULES_PROPERTIES];
	struct rules_section *sections;
	enum rules_load load;
	struct rules_moment load_time;
	uint32_t load_nth;               /* MAPPED: 1 is the first time */
	struct rules_moment unload_time; /* not given: when its memory goes */
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
	RULES_ACTION_SET_FIELD,  /* index: of the rule's fields */
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
	const struct rules_provider *provider; /* SET_HEADER of the provider by its short name */
	struct ptl_field field;                /* ADD */
	struct rules_body *body;
	struct query_loop loop;       /* FOR */
	struct rules_action *actions; /* FOR: what is done for each element */
};

struct rules_rule {
	struct rules_rule *next;
	uint32_t index; /* from 0, in the order of the file */
	struct query_place at;
	const struct rules_provider *provider; /* NULL: any */
	struct rules_ranges match[RULES_MATCHES];
	bool has_keyword;
	uint64_t keyword;
	const char *process, *image; /* patterns, or NULL */
	struct rules_moment from, to;
	struct query_expr *where;
	struct rules_ranges nth;
	struct rules_action *actions;
	struct query_fields fields;
	bool reshapes; /* adds or deletes fields */
};

struct rules_schema {
	struct rules_schema *next;
	struct query_place at;
	const struct rules_provider *provider;
	struct ptl_schema schema; /* its provider and provider_name are filled when they are known */
};

struct rules_image {
	struct rules_image *next;
	struct query_place at;
	const char *process; /* pattern, or NULL */
	uint32_t pid;        /* where process is NULL */
	struct rules_body body;
};

struct rules_rename {
	struct rules_rename *next;
	struct query_place at;
	const char *pattern, *replacement;
};

/* A whole file. Zero-initialised is one without a rule. */
struct rules {
	struct common_arena arena;
	const char *name;   /* of the file */
	const char *folder; /* of the file, "" for the current one, else with a slash at its end */
	const char *text;   /* as it was read, zero-terminated */
	struct rules_provider *providers;
	struct rules_schema *schemas;
	struct rules_rule *rules;
	size_t rule_count;
	struct rules_image *images;
	struct rules_rename *renames;
};

#endif
