/* SPDX-License-Identifier: BSD-2-Clause */
/* Images of rules: shared declarations of images.c, spec.c, captured.c, backing.c, spaces.c and perf_map.c. */
#ifndef RELOG_RULES_IMAGES_H
#define RELOG_RULES_IMAGES_H

#include "relog/rules/run_state.h"

#define RULES_PARTS_MAX 256u /* maximum executable sections of an image */

/* An executable, or formerly executable, part of an image; may be the whole image. */
struct rules_part {
	uint64_t rva;
	uint64_t size;
	uint64_t file_offset;
	uint32_t protection;
};

/* An image for one process, evaluated from a body. Texts are in the scratch arena. */
struct rules_spec {
	struct query_place at;
	uint32_t pid;
	uint64_t time;
	bool as_of_start; /* report the image as of the time when its memory appeared, if known */
	uint64_t base;
	uint64_t size;
	const char *path;
	uint64_t default_base;
	/* a statement of a whole perf map: base and size are given, and symbols have addresses of the process */
	bool whole_map;
	struct rules_part *parts; /* the executable parts */
	size_t part_count;
	struct ptl_image_event image; /* data of all parts: symbols, debug, build id */
};

/* A part of an image that is currently loaded. */
struct rules_live {
	uint64_t first, last;
	uint64_t image_base;         /* base of the whole image */
	uint64_t image_size;         /* size of the whole image */
	struct ptl_image_event data; /* file_name is owned */
	struct query_place at;       /* place of the rule */
};

/* Anonymous executable memory, which an image of a rule may take. */
struct rules_backing {
	struct rules_backing *next;
	uint64_t first, last;
	uint64_t time;               /* time when the memory appeared */
	struct ptl_image_event data; /* file_name is "//anon", not owned */
	/* Code that was captured in the memory, in order of time. */
	struct rules_backed_code {
		uint64_t time;
		uint64_t base, size;
		uint8_t hash[PTL_HASH_SIZE];
	} * codes;
	size_t code_count;
	bool too_much; /* more than CODES_MAX pieces of code; further pieces were dropped */
};

/* Images of rules in a process. */
struct rules_space {
	uint32_t pid;
	struct rules_live **live; /* sorted by first; ranges do not overlap */
	size_t live_count, live_room;
	struct rules_backing *backing;
	/* Ranges whose image of a rule was unloaded while the memory stayed, in order of the unloads. */
	struct rules_ended {
		uint64_t first, last;
		uint64_t time;
	} * ended;
	size_t ended_count;
	/*
	 * by image statement: how often memory appeared in its range; for a whole perf map, how often the map was
	 * missing
	 */
	uint32_t *mapped;
	bool *turn; /* by image statement: the current event triggers the load */
};

/* An action scheduled for a time. */
struct rules_due {
	uint64_t time;
	enum { RULES_DUE_LOAD, RULES_DUE_UNLOAD, RULES_DUE_COPY } kind;
	const struct rules_image *image; /* LOAD, UNLOAD: the statement */
	uint32_t pid, parent;            /* LOAD: PTL_NO_ID for all processes; COPY: pid inherits from parent */
};

struct rules_images {
	struct common_hash_map spaces; /* pid: struct rules_space */
	struct rules_due *due;         /* sorted by time, from due_first on */
	size_t due_first, due_count;
	size_t statement_count;
	bool *loaded;                  /* by image statement: some process has loaded the image */
	struct common_byte_map tables; /* symbol tables made so far: index in hashes */
	uint8_t (*hashes)[PTL_HASH_SIZE + 1];
	size_t hash_count;
	bool tracks_backing; /* recorder's events about anonymous memory are tracked: images may take the memory */
};

/* images.c: returns the error that an image of a rule overlaps another image. at: place of the rule. */
int rules_images_overlap(const struct rules_run *run, struct query_place at, const char *path, uint64_t base,
			 uint64_t size, const struct ptl_image_event *other);
/* Writes an image event of a rule. */
int rules_report_image(struct rules_run *run, uint64_t time, uint8_t opcode, const struct ptl_image_event *data);
/* Tells whether an image statement applies to a process, returns the scope of its expressions, and loads its image. */
bool rules_statement_applies(const struct rules_run *run, const struct rules_image *image, uint32_t pid);
struct query_scope rules_statement_scope(struct rules_run *run, uint32_t pid);
int rules_statement_load(struct rules_run *run, const struct rules_image *image, uint32_t pid, uint64_t time,
			 uint8_t opcode);
/* As rules_statement_load, for memory that a whole perf map names. */
int rules_statement_load_memory(struct rules_run *run, const struct rules_image *image, uint32_t pid, uint64_t time,
				uint64_t base, uint64_t size);
/* Handles a process event: loads or unloads images that begin or end with the process. */
int rules_images_process(struct rules_run *run, const struct ptl_event *event);

/* spec.c: evaluates a body. Returns PTL_CORRUPT, PTL_SYSTEM, PTL_NO_MEMORY. */
int rules_spec_evaluate(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			struct rules_spec *spec);
/* If the body names a file of code, writes the code of a part to the trace, and sets has_code and code. */
int rules_spec_code(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
		    const struct rules_part *part, struct ptl_image_event *image);

/* Returns the symbol file of a body for a process, in the scratch arena. */
int rules_spec_symbols_path(struct rules_run *run, const struct query_scope *scope, const struct rules_body *body,
			    uint32_t pid, const char **path);

/* perf_map.c: handles memory that becomes executable in a process with a whole perf map. */
int rules_perf_map_notice(struct rules_run *run, size_t index, const struct rules_image *image, uint64_t time,
			  const struct ptl_image_event *data);

/* captured.c */
/* Makes a blob of the output from the bytes of a blob from `skip` on. skip 0: returns the hash of the same blob. */
int rules_slice(struct rules_run *run, const uint8_t hash[PTL_HASH_SIZE], uint64_t skip, uint64_t size,
		uint8_t result[PTL_HASH_SIZE]);
/*
 * Gathers the code that was captured in [first, last] of a process until now, and reports the code again at a later
 * time.
 */
struct rules_captured {
	struct rules_captured_piece *list;
	size_t count;
};
int rules_captured_gather(struct rules_run *run, uint32_t pid, uint64_t first, uint64_t last,
			  struct rules_captured *captured);
int rules_captured_report(struct rules_run *run, uint32_t pid, uint64_t time, const struct rules_captured *captured);
void rules_captured_free(struct rules_captured *captured);
/* Writes a code event. */
int rules_report_code(struct rules_run *run, uint32_t pid, uint64_t time, uint64_t base, uint64_t size,
		      const uint8_t hash[PTL_HASH_SIZE]);

/*
 * As rules_captured_gather, as of the time when the memory had appeared. Sets *time. Returns 1 if the time is unknown;
 * PTL_NO_MEMORY.
 */
int rules_captured_at_start(const struct rules_space *space, uint64_t first, uint64_t last, uint64_t *time,
			    struct rules_captured *captured);

/* backing.c: anonymous memory */
int rules_backing_add(struct rules_space *space, const struct ptl_image_event *data, uint64_t time);
void rules_backing_remove(struct rules_space *space, uint64_t first, uint64_t last);
int rules_backing_code(struct rules_space *space, const struct ptl_code_event *code, uint64_t time);

/* spaces.c: loaded images of rules by process */
struct rules_space *rules_space_find(const struct rules_run *run, uint32_t pid); /* NULL: no space */
int rules_space_need(struct rules_run *run, uint32_t pid, struct rules_space **space);
/* Returns the index of the first live part that ends at or behind an address. */
size_t rules_live_index(const struct rules_space *space, uint64_t address);
/* Returns the live part with the lowest address in [first, last], or NULL. */
struct rules_live *rules_live_find(const struct rules_space *space, uint64_t first, uint64_t last);
int rules_live_add(struct rules_space *space, const struct ptl_image_event *data, const struct rules_spec *spec);
/*
 * Notes that the image of a rule in [first, last] ended at a time. rules_ended_last returns the time of the last unload
 * that overlaps the range; 0: none; UINT64_MAX: there were too many unloads.
 */
int rules_ended_add(struct rules_space *space, uint64_t first, uint64_t last, uint64_t time);
uint64_t rules_ended_last(const struct rules_space *space, uint64_t first, uint64_t last);
/* Removes [first, last] from the live parts. */
int rules_live_remove(struct rules_space *space, uint64_t first, uint64_t last);
void rules_spaces_free(struct rules_images *images);

/* Whether the path means anonymous memory, which an image of a rule may take. */
bool rules_is_nameless(const char *path);

#endif
