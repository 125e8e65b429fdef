/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes a profile in BOLT's text format fdata (bolt/include/bolt/Profile/DataReader.h): a line for each pair of a branch
 * and the place where flow continues, both as offsets in functions. A conditional branch that is not taken continues
 * behind itself, and an instruction before the target of a jump continues at the target. Counts are exact, unlike those of
 * perf2bolt.
 */
#include "dump/export/profile/bolt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/profile/profile.h"
#include "common/error.h"
#include "common/file.h"
#include "common/plural.h"
#include "common/program/message.h"
#include "common/text/text.h"
#include "common/vector.h"

/* A branch and the place where flow continues, as addresses of the file. */
struct bolt_edge {
	uint64_t from, to;
	uint64_t count;
};

struct bolt {
	struct dump_run *run;
	struct analysis_calls *calls;
	const struct analysis_profile *profile;
	FILE *out; /* of the current file's profile */
	const struct ptl_symbol_table *symbols;
	struct common_hash_map numbers; /* address of a local function: its number among functions of its name */
	struct bolt_edge *edges;
	size_t count, capacity;
	uint64_t *leaders; /* sorted targets of jumps, where BOLT's blocks begin */
	size_t leader_count, leader_capacity;
	size_t written;   /* lines of the current file */
	uint64_t outside; /* executed branches that are in no function */
	uint64_t unnamed; /* files without a profile, because no function that ran has a name */
};

/* ---- names --------------------------------------------------------------------------------------- */

/* BOLT numbers local functions of one name in order of address. */
static int number_locals(struct bolt *bolt)
{
	struct common_byte_map counts = {0};
	int status = 0;

	for (size_t i = 0; status == 0 && i < ptl_symbols_count(bolt->symbols); i++) {
		const struct ptl_symbol symbol = ptl_symbols_get(bolt->symbols, i);
		const struct ptl_symbol shown = ptl_symbols_find(bolt->symbols, symbol.address);
		const uint64_t *known;
		uint64_t number;

		if (symbol.type != 't')
			continue;
		known = common_byte_map_get(&counts, symbol.name, strlen(symbol.name));
		number = known ? *known + 1 : 1;
		status = common_byte_map_put(&counts, symbol.name, strlen(symbol.name), number);
		/* Of several names of an address, ptl_symbols_find prefers one. */
		if (status == 0 && shown.name && shown.type == 't' && !strcmp(shown.name, symbol.name))
			status = common_hash_map_put(&bolt->numbers, symbol.address, number);
	}
	common_byte_map_free(&counts);
	return status;
}

/* Writes a place: "1 name offset", or "0 [unknown] 0" outside of functions. */
static void write_place(const struct bolt *bolt, const struct ptl_symbol *symbol, uint64_t address)
{
	const uint64_t *number = symbol->name ? common_hash_map_get(&bolt->numbers, symbol->address) : NULL;

	if (!symbol->name) {
		fputs("0 [unknown] 0", bolt->out);
		return;
	}
	fputs("1 ", bolt->out);
	for (const char *at = symbol->name; *at; at++) {
		if (*at == ' ' || *at == '\\')
			fputc('\\', bolt->out);
		fputc(*at, bolt->out);
	}
	if (symbol->type == 't' && number)
		fprintf(bolt->out, "/%" PRIu64, *number);
	fprintf(bolt->out, " %" PRIx64, address - symbol->address);
}

/*
 * Returns the function of an address; name NULL: none. A symbol without a size may end before the address. A line of the
 * format has no place for line breaks in names.
 */
static struct ptl_symbol function_at(const struct bolt *bolt, uint64_t address)
{
	struct ptl_symbol symbol = ptl_symbols_find(bolt->symbols, address);

	if (symbol.name &&
	    (!symbol.size || !*symbol.name || strpbrk(symbol.name, "\r\n") || !strchr("tTWi", symbol.type)))
		symbol.name = NULL;
	return symbol;
}

/* ---- edges --------------------------------------------------------------------------------------- */

static int add_edge(struct bolt *bolt, uint64_t from, uint64_t to, uint64_t count)
{
	int status;

	if (!count)
		return 0;
	status = COMMON_VECTOR_RESERVE(bolt->edges, bolt->capacity, bolt->count + 1, "branches");
	if (status == 0)
		bolt->edges[bolt->count++] = (struct bolt_edge){from, to, count};
	return status;
}

static uint64_t last_instruction(const struct analysis_profile_block *block)
{
	return block->address + block->size - (block->instructions ? block->lengths[block->instructions - 1] : 0);
}

static int bolt_add_block(struct bolt *bolt, const struct analysis_profile_block *block)
{
	const uint64_t from = last_instruction(block);
	int status;

	switch (block->branch) {
	case FLOW_BRANCH_CONDITIONAL:
		status = add_edge(bolt, from, block->target, block->taken);
		return status < 0 ? status : add_edge(bolt, from, block->address + block->size, block->not_taken);
	case FLOW_BRANCH_JUMP:
	case FLOW_BRANCH_CALL:
		return block->target ? add_edge(bolt, from, block->target, block->count) : 0;
	default:
		return 0;
	}
}

/* Adds targets of indirect branches. An address in another file is no function of this file. */
static int add_indirect(struct bolt *bolt, const struct analysis_profile *profile, uint32_t content)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < profile->edge_count; i++) {
		const struct analysis_profile_edge *edge = &profile->edges[i];
		const struct analysis_profile_block *from = &profile->blocks[edge->from],
						    *to = &profile->blocks[edge->to];

		if (from->content != content || from->branch == FLOW_BRANCH_RETURN)
			continue;
		status = add_edge(bolt, last_instruction(from), to->content == content ? to->address : 0, edge->count);
	}
	return status;
}

/* ---- flow without a branch ----------------------------------------------------------------------- */

static int add_leader(struct bolt *bolt, uint64_t address)
{
	int status = COMMON_VECTOR_RESERVE(bolt->leaders, bolt->leader_capacity, bolt->leader_count + 1, "branches");

	if (status == 0)
		bolt->leaders[bolt->leader_count++] = address;
	return status;
}

static int compare_addresses(const void *a_, const void *b_)
{
	const uint64_t *a = a_, *b = b_;

	return (*a > *b) - (*a < *b);
}

/* Collects the targets of jumps, also of branches that were never taken. */
static int find_leaders(struct bolt *bolt, const struct analysis_profile *profile, uint32_t content)
{
	int status = 0;

	for (size_t i = 0; status == 0 && i < profile->block_count; i++) {
		const struct analysis_profile_block *block = &profile->blocks[i];

		if (block->content == content && block->target &&
		    (block->branch == FLOW_BRANCH_CONDITIONAL || block->branch == FLOW_BRANCH_JUMP))
			status = add_leader(bolt, block->target);
	}
	for (size_t i = 0; status == 0 && i < profile->edge_count; i++) {
		const struct analysis_profile_edge *edge = &profile->edges[i];

		if (profile->blocks[edge->from].branch == FLOW_BRANCH_JUMP_INDIRECT &&
		    profile->blocks[edge->to].content == content)
			status = add_leader(bolt, profile->blocks[edge->to].address);
	}
	if (bolt->leader_count)
		qsort(bolt->leaders, bolt->leader_count, sizeof(*bolt->leaders), compare_addresses);
	return status;
}

/* Adds flow from an instruction into the next instruction, if a block of BOLT begins there. */
static int add_fall(struct bolt *bolt, uint64_t from, uint64_t to, uint64_t count)
{
	struct ptl_symbol one, other;

	if (!bolt->leader_count ||
	    !bsearch(&to, bolt->leaders, bolt->leader_count, sizeof(*bolt->leaders), compare_addresses))
		return 0;
	one = function_at(bolt, from);
	other = function_at(bolt, to);
	return one.name && other.name && one.address == other.address ? add_edge(bolt, from, to, count) : 0;
}

/* A call ends a block of the flow, and no block of BOLT: flow continues behind the call. */
static bool goes_on(uint8_t branch)
{
	return branch == FLOW_BRANCH_NONE || branch == FLOW_BRANCH_CALL || branch == FLOW_BRANCH_CALL_INDIRECT ||
	       branch == FLOW_BRANCH_FAR_CALL;
}

static int add_falls(struct bolt *bolt, const struct analysis_profile_block *block)
{
	uint64_t address = block->address;
	int status = 0;

	for (uint32_t i = 0; status == 0 && i < block->instructions; i++) {
		const uint64_t next = address + block->lengths[i];

		if (i + 1 < block->instructions || goes_on(block->branch))
			status = add_fall(bolt, address, next, block->count);
		address = next;
	}
	return status;
}

/* ---- output -------------------------------------------------------------------------------------- */

static int compare_edges(const void *a_, const void *b_)
{
	const struct bolt_edge *a = a_, *b = b_;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Blocks that begin at several places may end with the same branch: sums up the counts of each edge. */
static void write_edges(struct bolt *bolt)
{
	if (bolt->count)
		qsort(bolt->edges, bolt->count, sizeof(*bolt->edges), compare_edges);
	for (size_t i = 0; i < bolt->count;) {
		struct bolt_edge edge = bolt->edges[i];
		const struct ptl_symbol from = function_at(bolt, edge.from), to = function_at(bolt, edge.to);

		while (++i < bolt->count && compare_edges(&bolt->edges[i], &edge) == 0)
			edge.count += bolt->edges[i].count;
		bolt->outside += from.name ? 0 : edge.count;
		if (!from.name && !to.name)
			continue;
		write_place(bolt, &from, edge.from);
		fputc(' ', bolt->out);
		write_place(bolt, &to, edge.to);
		fprintf(bolt->out, " 0 %" PRIu64 "\n", edge.count);
		bolt->written++;
	}
}

/* ---- a profile ----------------------------------------------------------------------------------- */

/* Removes what belongs to one content. */
static void clear_content(struct bolt *bolt)
{
	common_hash_map_free(&bolt->numbers);
	bolt->numbers = (struct common_hash_map){0};
	bolt->count = 0;
	bolt->leader_count = 0;
	bolt->written = 0;
}

/* Writes the profile of a content to bolt->out. Sets bolt->written; 0: no function of the content has a name. */
static int write_content(struct bolt *bolt, uint32_t content)
{
	const struct analysis_profile *profile = bolt->profile;
	const struct analysis_content *file = &profile->contents[content];
	int status;

	clear_content(bolt);
	bolt->symbols = flow_symbols_table(bolt->calls->symbols,
					   &flow_timeline_image(bolt->calls->timeline, file->image)->data);
	if (!bolt->symbols)
		return 0;
	status = number_locals(bolt);
	if (status == 0)
		status = find_leaders(bolt, profile, content);
	for (size_t i = 0; status == 0 && i < profile->block_count; i++) {
		if (profile->blocks[i].content != content)
			continue;
		status = bolt_add_block(bolt, &profile->blocks[i]);
		if (status == 0)
			status = add_falls(bolt, &profile->blocks[i]);
	}
	if (status == 0)
		status = add_indirect(bolt, profile, content);
	if (status == 0)
		write_edges(bolt);
	return status;
}

/* ---- which files --------------------------------------------------------------------------------- */

/* Whether the path names a file, not memory such as "//anon" or "[vdso]". */
static bool is_file(const char *path)
{
	return path[0] == '/' && path[1] != '/';
}

/*
 * *counts: new array with the number of executed instructions of each content; 0: not selected by --image, or no file.
 * Returns PTL_NO_MEMORY.
 */
static int count_contents(const struct bolt *bolt, uint64_t **counts)
{
	const struct analysis_profile *profile = bolt->profile;
	uint64_t *sums = *counts = calloc(profile->content_count + 1, sizeof(*sums));

	if (!sums)
		return common_fail_memory("files", (profile->content_count + 1) * sizeof(*sums));
	for (size_t i = 0; i < profile->block_count; i++) {
		const struct analysis_profile_block *block = &profile->blocks[i];

		if (block->content != FLOW_NONE)
			sums[block->content] += block->count * block->instructions;
	}
	for (uint32_t i = 0; i < profile->content_count; i++)
		if (!is_file(profile->contents[i].path) ||
		    !analysis_filter_wants_image(bolt->calls->input.filter, profile->contents[i].path))
			sums[i] = 0;
	return 0;
}

/* ---- the profile of one file --------------------------------------------------------------------- */

/* Says which of several files is written. */
static void note_others(const char *path, size_t others)
{
	if (!others)
		return;
	common_message_note("the profile is of %s, which executed most; --image selects one of %zu " COMMON_PLURAL(
				    "other", "others") ", and --output-dir writes a profile of each",
			    path, others);
}

static void warn_of_symbols(const char *path)
{
	common_message_warning("no function of %s that ran has a name: the profile is empty", path);
	common_message_hint("keep the symbols of the program (no strip), and record with --embed symbols");
}

/* Writes the profile of the content that executed most instructions to the output. */
static int write_largest(struct bolt *bolt, const uint64_t *counts)
{
	uint32_t content = FLOW_NONE;
	size_t found = 0;
	int status;

	for (uint32_t i = 0; i < bolt->profile->content_count; i++) {
		found += counts[i] != 0;
		if (counts[i] && (content == FLOW_NONE || counts[i] > counts[content]))
			content = i;
	}
	if (content == FLOW_NONE) {
		analysis_note_no_flow(&bolt->calls->input);
		return dump_output_check(bolt->run);
	}
	note_others(bolt->profile->contents[content].path, found - 1);
	bolt->out = bolt->run->out;
	status = write_content(bolt, content);
	if (status == 0 && !bolt->written)
		warn_of_symbols(bolt->profile->contents[content].path);
	return status < 0 ? status : dump_output_check(bolt->run);
}

/* ---- a folder with the profiles of all files ----------------------------------------------------- */

/* Whether another selected content has a file of the same name. */
static bool has_namesake(const struct bolt *bolt, const uint64_t *counts, uint32_t content)
{
	const struct analysis_content *contents = bolt->profile->contents;
	const char *name = common_base_name(contents[content].path);

	for (uint32_t i = 0; i < bolt->profile->content_count; i++)
		if (i != content && counts[i] && strcmp(common_base_name(contents[i].path), name) == 0)
			return true;
	return false;
}

/* Forms "DIR/NAME.fdata", of namesakes "DIR/NAME-BUILDID.fdata", or "DIR/NAME-NUMBER.fdata" without a build id. */
static void profile_path(const struct bolt *bolt, const uint64_t *counts, uint32_t content, const char *folder,
			 struct ptl_bytes *path)
{
	const struct analysis_content *file = &bolt->profile->contents[content];

	common_text_format(path, "%s/%s", folder, common_base_name(file->path));
	if (has_namesake(bolt, counts, content)) {
		common_text_add(path, "-");
		if (file->build_id_size)
			common_text_hex_bytes(path, file->build_id, file->build_id_size);
		else
			common_text_format(path, "%" PRIu32, content);
	}
	common_text_add(path, ".fdata");
}

/* Writes a profile to a file, which appears only with lines. */
static int write_file(struct bolt *bolt, uint32_t content, const char *path)
{
	struct common_output_file file = {.fd = -1};
	char *text = NULL;
	size_t size = 0;
	int status;

	bolt->out = open_memstream(&text, &size);
	if (!bolt->out)
		return common_fail_memory("a profile", 0);
	status = write_content(bolt, content);
	if (fclose(bolt->out) != 0 && status == 0)
		status = common_fail_memory("a profile", size);
	bolt->out = NULL;
	if (status == 0 && bolt->written)
		status = common_output_open_of(&file, path, bolt->run->options->force, "--output-dir");
	if (status == 0 && bolt->written)
		status = common_write_all(file.fd, text, size);
	if (status == 0 && bolt->written)
		status = common_output_commit(&file);
	common_output_abandon(&file);
	free(text);
	return status;
}

/* Prints a line of the list. */
static void list_profile(struct dump_run *run, const char *path, const char *image)
{
	struct ptl_bytes line = {0};

	common_text_safe(&line, path);
	common_text_add(&line, "\t");
	common_text_safe(&line, image);
	common_text_add(&line, "\n");
	common_text_write(&line, run->out);
	common_bytes_free(&line);
}

/* Writes a profile of each file, and lists the profiles: path of the profile, tabulator, path of the image. */
static int write_folder(struct bolt *bolt, const uint64_t *counts, const char *folder)
{
	const struct analysis_profile *profile = bolt->profile;
	struct ptl_bytes path = {0};
	size_t found = 0;
	int status = 0;

	if (mkdir(folder, 0777) < 0 && errno != EEXIST)
		return common_fail_errno("cannot make the folder %s", folder);
	for (uint32_t i = 0; status == 0 && i < profile->content_count; i++) {
		if (!counts[i])
			continue;
		found++;
		path.size = 0;
		profile_path(bolt, counts, i, folder, &path);
		status = path.failed ? common_fail_memory("a path", path.size)
				     : write_file(bolt, i, common_text_string(&path));
		if (status == 0 && bolt->written)
			list_profile(bolt->run, common_text_string(&path), profile->contents[i].path);
		bolt->unnamed += status == 0 && !bolt->written;
	}
	common_bytes_free(&path);
	if (status == 0 && !found)
		analysis_note_no_flow(&bolt->calls->input);
	return status < 0 ? status : dump_output_check(bolt->run);
}

/* ---- all ----------------------------------------------------------------------------------------- */

static void say_left_out(const struct bolt *bolt, struct dump_left_out *left_out)
{
	dump_left_out_add(left_out, bolt->profile->missing.gaps, "gap, of which it is not known what ran",
			  "gaps, of which it is not known what ran");
	dump_left_out_add(left_out, bolt->outside, "branch outside of functions with a name",
			  "branches outside of functions with a name");
	dump_left_out_add(left_out, bolt->unnamed, "file of which no function that ran has a name",
			  "files of which no function that ran has a name");
}

int dump_bolt(struct dump_run *run, struct analysis_calls *calls, const char *folder, struct dump_left_out *left_out)
{
	struct analysis_profile profile = {0};
	struct bolt bolt = {.run = run, .calls = calls, .profile = &profile};
	uint64_t *counts = NULL;
	int status = analysis_profile_run(calls->input.trace, calls->timeline, &calls->input.view, true, &profile);

	common_progress_end();
	if (status == 0)
		status = count_contents(&bolt, &counts);
	if (status == 0)
		status = folder ? write_folder(&bolt, counts, folder) : write_largest(&bolt, counts);
	if (status == 0)
		say_left_out(&bolt, left_out);
	analysis_profile_free(&profile);
	common_hash_map_free(&bolt.numbers);
	free(counts);
	free(bolt.edges);
	free(bolt.leaders);
	return status;
}
