/* SPDX-License-Identifier: BSD-2-Clause */
/* Images that rules state: what the parts of the injection share. */
#ifndef RELOG_RULES_IMAGES_H
#define RELOG_RULES_IMAGES_H

#include "relog/rules/run_state.h"

#define RULES_PARTS_MAX 256u /* executable sections of an image */

/* A part of an image that is or was executable, or all of it. */
struct rules_part {
	uint64_t rva;
	uint64_t size;
	uint64_t file_offset;
	uint32_t protection;
};

/* An image as a body states it, for one process. Texts are in the scratch arena. */
struct rules_spec {
	struct query_place at;
	uint32_t pid;
	uint64_t time;
	bool as_of_start; /* rather as of when its memory appeared, where that is known */
	uint64_t base;
	uint64_t size;
	const char *path;
	uint64_t default_base;
	bool whole_map;           /* base and size are given, and symbols have the addresses of the process */
	struct rules_part *parts; /* the executable ones */
	size_t part_count;
	struct ptl_image_event image; /* what all parts share: symbols, debug, build id */
};

/* A part of an image that is there now. */
struct rules_live {
	struct rules_live *next;
	uint64_t first, last;
	uint64_t image_base;         /* of the whole image */
	struct ptl_image_event data; /* its file_name is owned */
	struct query_place at;       /* of what stated it */
};

/* Executable memory without a name, which an image of a rule may take: what is under it. */
struct rules_backing {
	struct rules_backing *next;
	uint64_t first, last;
	uint64_t time;               /* when it appeared */
	struct ptl_image_event data; /* its file_name is not owned: "//anon" */
	/* Code that was captured in it, in order. */
	struct rules_backed_code {
		uint64_t time;
		uint64_t base, size;
		uint8_t hash[PTL_HASH_SIZE];
	} * codes;
	size_t code_count;
	bool too_much; /* more code than is kept */
};

/* Images of rules in one process. */
struct rules_space {
	uint32_t pid;
	struct rules_live *live;
	struct rules_backing *backing;
	uint32_t *mapped; /* by image statement: how often memory appeared in its range, or no perf map was there */
	bool *turn;       /* it is this statement's turn; while an event is looked at */
};

/* Something that is to be done at a time. */
struct rules_due {
	uint64_t time;
	enum { RULES_DUE_LOAD, RULES_DUE_UNLOAD, RULES_DUE_COPY } kind;
	const struct rules_image *image; /* LOAD, UNLOAD: the statement */
	uint32_t pid, parent;            /* LOAD: PTL_NO_ID for all processes; COPY: from parent */
};

struct rules_images {
	struct common_hash_map spaces; /* by pid: struct rules_space */
	struct rules_due *due;         /* in order of time, from due_first on */
	size_t due_first, due_count;
	size_t statement_count;
	bool *loaded;                  /* by image statement: it was, somewhere */
	struct common_byte_map tables; /* symbol tables that were made: index in hashes */
	uint8_t (*hashes)[PTL_HASH_SIZE + 1];
	size_t hash_count;
	bool tracks_backing; /* events become images or end them */
};

/* images.c: the error of an image, stated at a place of the rules, that lies on another one. */
int rules_images_overlap(const struct rules_run *run, struct query_place at, const char *path, uint64_t base,
			 uint64_t size, const struct ptl_image_event *other);
/* An image event of a rule. */
int rules_report_image(struct rules_run *run, uint64_t time, uint8_t opcode, const struct ptl_image_event *data);
/* Whether an image statement is about a process, what its expressions see, and loading its image. */
bool rules_statement_applies(const struct rules_run *run, const struct rules_image *image, uint32_t pid);
struct query_scope rules_statement_scope(struct rules_run *run, uint32_t pid);
int rules_statement_load(struct rules_run *run, const struct rules_image *image, uint32_t pid, uint64_t time,
			 uint8_t opcode);
/* The same for memory that a whole perf map names. */
int rules_statement_load_memory(struct rules_run *run, const struct rules_image *image, uint32_t pid, uint64_t time,
				uint64_t base, uint64_t size);
/* A process event: images that begin with the process, or end with it. */
int rules_images_process(struct rules_run *run, const struct ptl_event *event);

/* spec.c: evaluates a body. PTL_CORRUPT, PTL_SYSTEM, PTL_NO_MEMORY. */
int rules_spec_evaluate(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			struct rules_spec *spec);
/* Puts the code of a part into the trace if the body names a file: sets has_code and code. */
int rules_spec_code(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
		    const struct rules_part *part, struct ptl_image_event *image);

/* The symbol file of a body, for a process; in the scratch arena. */
int rules_spec_symbols_path(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			    uint32_t pid, const char **path);

/* perf_map.c: memory becomes executable in a process that a statement of a whole perf map is about. */
int rules_perf_map_notice(struct rules_run *run, size_t index, const struct rules_image *image, uint64_t time,
			  const struct ptl_image_event *data);

/* captured.c */
/* Bytes of a blob from skip on, as a blob of the output; the same where skip is 0. */
int rules_slice(struct rules_run *run, const uint8_t hash[PTL_HASH_SIZE], uint64_t skip, uint64_t size,
		uint8_t result[PTL_HASH_SIZE]);
/* Tells again what code was captured in [first, last] of a process up to now, as code events of this time. */
struct rules_captured {
	struct rules_captured_piece *list;
	size_t count;
};
int rules_captured_gather(struct rules_run *run, uint32_t pid, uint64_t first, uint64_t last,
			  struct rules_captured *captured);
int rules_captured_report(struct rules_run *run, uint32_t pid, uint64_t time, const struct rules_captured *captured);
void rules_captured_free(struct rules_captured *captured);
/* A code event. */
int rules_report_code(struct rules_run *run, uint32_t pid, uint64_t time, uint64_t base, uint64_t size,
		      const uint8_t hash[PTL_HASH_SIZE]);

/* The same as of when the memory appeared, and that time: 0; 1 where it is not known. PTL_NO_MEMORY. */
int rules_captured_at_start(const struct rules_space *space, uint64_t first, uint64_t last, uint64_t *time,
			    struct rules_captured *captured);

/* backing.c */
int rules_backing_add(struct rules_space *space, const struct ptl_image_event *data, uint64_t time);
void rules_backing_remove(struct rules_space *space, uint64_t first, uint64_t last);
int rules_backing_code(struct rules_space *space, const struct ptl_code_event *code, uint64_t time);

/* spaces.c: which images of rules are where. */
struct rules_space *rules_space_find(const struct rules_run *run, uint32_t pid); /* NULL: none */
int rules_space_need(struct rules_run *run, uint32_t pid, struct rules_space **space);
/* The live part that covers the lowest address of [first, last], or NULL. */
struct rules_live *rules_live_find(const struct rules_space *space, uint64_t first, uint64_t last);
int rules_live_add(struct rules_space *space, const struct ptl_image_event *data, uint64_t image_base,
		   struct query_place at);
/* Nothing of [first, last] is live any more. */
int rules_live_remove(struct rules_space *space, uint64_t first, uint64_t last);
void rules_spaces_free(struct rules_images *images);

/* Memory without a name of its own, that an image of a rule may take. */
bool rules_is_nameless(const char *path);

#endif
