/* SPDX-License-Identifier: BSD-2-Clause */
/* The places of sequences in line programs, and the rows of units with requested addresses. */
#include "flow/symbol/line_table.h"

#include <dwarf.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "common/arena.h"
#include "common/hash_map.h"
#include "common/partition.h"
#include "common/vector.h"
#include "elf/dwarf_text.h"
#include "flow/symbol/code_ranges.h"
#include "flow/symbol/dwarf_section.h"
#include "flow/symbol/line_program.h"

#define ROWS_MAX ((size_t)1 << 27)

/* A row. Valid from its address to the next row's address. */
struct row {
	uint64_t address;
	const char *file; /* NULL: unknown from here on */
	uint32_t line;
	uint32_t order; /* number of the row in the program; of several rows with one address, the last row counts */
	uint32_t discriminator;
};

struct unit {
	size_t offset;              /* offset in .debug_line */
	size_t count;               /* number of rows */
	_Atomic(struct row *) rows; /* owned; sorted within each sequence; NULL: not made yet */
};

/* A sequence: rows of contiguous code, [first, end). */
struct sequence {
	uint64_t first, end;
	uint32_t unit;
	uint32_t row, count; /* first row in the unit, and number of rows */
};

/* A piece: addresses of one sequence, up to the next piece. */
struct piece {
	uint64_t first;
	uint32_t sequence; /* NONE: no sequence */
};

#define NONE UINT32_MAX

struct flow_line_table {
	struct unit *units;
	size_t unit_count, unit_capacity;
	struct sequence *sequences; /* sorted by begin */
	size_t sequence_count, sequence_capacity;
	struct piece *pieces;
	size_t piece_count, piece_capacity;
	size_t row_count;           /* rows of all units */
	uint8_t *sections[3];       /* owned; copies of the following sections */
	struct common_cursor lines; /* .debug_line */
	struct flow_line_strings strings;
	struct flow_code_ranges code; /* valid only while the table is made */
	bool needs_folders;
	pthread_mutex_t lock;           /* protects the following members */
	struct common_arena arena;      /* memory of names */
	struct common_byte_map by_name; /* by name: address of the interned name */
	struct common_hash_map folders; /* by offset of the unit: compilation folder */
	struct ptl_bytes path;
};

void flow_lines_free(struct flow_line_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->unit_count; i++)
		free(table->units[i].rows);
	free(table->units);
	free(table->sequences);
	free(table->pieces);
	for (size_t i = 0; i < sizeof(table->sections) / sizeof(table->sections[0]); i++)
		free(table->sections[i]);
	common_arena_free(&table->arena);
	common_byte_map_free(&table->by_name);
	common_hash_map_free(&table->folders);
	common_bytes_free(&table->path);
	flow_code_ranges_free(&table->code);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

static struct flow_line_table *new_table(void)
{
	struct flow_line_table *table = calloc(1, sizeof(*table));

	if (table)
		pthread_mutex_init(&table->lock, NULL);
	return table;
}

/* ---- names --------------------------------------------------------------------------------------- */

/* Returns the interned name. NULL for an empty name, and without memory. */
static const char *intern(struct flow_line_table *table, const char *name)
{
	const uint64_t *known;
	const char *copy;

	if (!*name)
		return NULL;
	known = common_byte_map_get(&table->by_name, name, strlen(name));
	if (known)
		return (const char *)(uintptr_t)*known;
	copy = common_arena_copy(&table->arena, name, strlen(name));
	if (!copy || common_byte_map_put(&table->by_name, name, strlen(name), (uintptr_t)copy) < 0)
		return NULL;
	return copy;
}

/*
 * Returns the path of a file. A relative name is relative to its folder. A relative folder is relative to the
 * compilation folder.
 */
static const char *path_of(struct flow_line_table *table, const struct flow_line_file *file, const char *compiled_in)
{
	const char *const folder = file->folder ? file->folder : compiled_in;
	struct ptl_bytes *const path = &table->path;

	if (!*file->name || *file->name == '/')
		return intern(table, file->name);
	path->size = 0;
	if (folder) {
		if (*folder != '/' && compiled_in && *compiled_in == '/') {
			common_write_bytes(path, compiled_in, strlen(compiled_in));
			if (path->data && path->data[path->size - 1] != '/')
				common_write_le(path, '/', 1);
		}
		common_write_bytes(path, folder, strlen(folder));
		common_write_le(path, '/', 1);
	}
	common_write_bytes(path, file->name, strlen(file->name) + 1);
	return path->failed ? NULL : intern(table, (const char *)path->data);
}

bool flow_lines_need_folders(const struct flow_line_table *table)
{
	return table->needs_folders;
}

/*
 * Reads the compilation folders. If several units of .debug_info refer to one unit of .debug_line, the last one counts.
 */
void flow_lines_take_folders(struct flow_line_table *table, Dwarf *dwarf)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;

	while (dwarf_nextcu(dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0) {
		Dwarf_Attribute attribute;
		Dwarf_Word lines;
		Dwarf_Die unit;
		const char *folder;

		if (dwarf_offdie(dwarf, offset + header_size, &unit) &&
		    dwarf_formudata(dwarf_attr(&unit, DW_AT_stmt_list, &attribute), &lines) == 0) {
			folder = elf_dwarf_text(dwarf_attr(&unit, DW_AT_comp_dir, &attribute));
			folder = folder ? intern(table, folder) : NULL;
			if (folder && common_hash_map_put(&table->folders, lines, (uintptr_t)folder) < 0)
				return;
		}
		offset = next;
	}
}

/* ---- rows ---------------------------------------------------------------------------------------- */

/*
 * Orders by address. If a row ends a known range and another row begins at the same address, the beginning row comes
 * last and counts.
 */
static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (!a->file != !b->file)
		return a->file ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

static void sort_rows(struct row *rows, size_t count)
{
	size_t sorted = 1;

	while (sorted < count && compare_rows(&rows[sorted - 1], &rows[sorted]) < 0)
		sorted++;
	if (sorted < count)
		qsort(rows, count, sizeof(*rows), compare_rows);
}

/* The files of a unit by number; paths are made at the first request. */
struct files {
	struct flow_line_names names;
	const char *folder; /* compilation folder */
	const char **paths; /* NULL: not requested yet, or unknown */
};

static const char *file_of(struct flow_line_table *table, struct files *files, uint64_t number)
{
	if (number >= files->names.file_count)
		return NULL;
	if (!files->paths[number])
		files->paths[number] = path_of(table, &files->names.files[number], files->folder);
	return files->paths[number];
}

/* Makes all rows of a unit. The unit was checked before. */
static void fill_rows(struct flow_line_table *table, const struct flow_line_unit *header, struct files *files,
		      struct row *rows)
{
	struct flow_line_program program;
	struct flow_line_row row;
	size_t count = 0, first = 0;

	flow_line_program_start(header, &program);
	while (flow_line_program_next(&program, &row)) {
		const bool known = !row.ends && row.line && row.line <= INT32_MAX;

		rows[count] = (struct row){row.address, known ? file_of(table, files, row.file) : NULL, row.line,
					   (uint32_t)count, row.discriminator};
		count++;
		if (row.ends) {
			sort_rows(rows + first, count - first);
			first = count;
		}
	}
	sort_rows(rows + first, count - first);
}

/* Reads the header and the names of a unit. Returns false without memory. The caller calls close_files in any case. */
static bool open_files(struct flow_line_table *table, const struct unit *unit, struct flow_line_unit *header,
		       struct files *files)
{
	struct common_cursor section = table->lines;
	const uint64_t *folder;

	*files = (struct files){0};
	section.at = unit->offset;
	if (flow_line_unit_read(&section, header) && flow_line_names_read(header, &table->strings, &files->names))
		files->paths = calloc(files->names.file_count + 1, sizeof(*files->paths));
	folder = common_hash_map_get(&table->folders, unit->offset);
	files->folder = header->version < 5 && folder ? (const char *)(uintptr_t)*folder : files->names.folder;
	return files->paths != NULL;
}

static void close_files(struct files *files)
{
	free(files->paths);
	flow_line_names_free(&files->names);
}

static struct row *make_rows(struct flow_line_table *table, const struct unit *unit)
{
	struct flow_line_unit header;
	struct files files;
	struct row *rows = NULL;

	if (open_files(table, unit, &header, &files))
		rows = malloc(unit->count * sizeof(*rows));
	if (rows)
		fill_rows(table, &header, &files, rows);
	close_files(&files);
	return rows;
}

/* Returns the rows of a sequence. NULL without memory. */
static const struct row *rows_of(struct flow_line_table *table, const struct sequence *sequence)
{
	struct unit *const unit = &table->units[sequence->unit];
	struct row *rows = atomic_load_explicit(&unit->rows, memory_order_acquire);

	if (!rows) {
		pthread_mutex_lock(&table->lock);
		rows = atomic_load(&unit->rows);
		if (!rows) {
			rows = make_rows(table, unit);
			atomic_store_explicit(&unit->rows, rows, memory_order_release);
		}
		pthread_mutex_unlock(&table->lock);
	}
	return rows ? rows + sequence->row : NULL;
}

/* ---- sequences ----------------------------------------------------------------------------------- */

static bool add_sequence(struct flow_line_table *table, const struct sequence *sequence)
{
	/* A sequence without bytes contains no instruction. */
	if (sequence->first >= sequence->end)
		return true;
	if (table->sequence_count == NONE ||
	    !COMMON_VECTOR_GROW(table->sequences, table->sequence_capacity, table->sequence_count + 1))
		return false;
	table->sequences[table->sequence_count++] = *sequence;
	return true;
}

/*
 * Adds the sequences of a unit, and counts its rows. Returns false if the program is damaged, or without memory. A
 * linker that leaves out code may keep the code's sequence. Such a sequence begins at an address that is no code: at 0,
 * or at the highest addresses, from which it continues at 0.
 */
static bool add_sequences(struct flow_line_table *table, const struct flow_line_unit *header, size_t *count)
{
	struct sequence sequence = {.first = UINT64_MAX, .unit = (uint32_t)table->unit_count};
	struct flow_line_program program;
	struct flow_line_row row;
	bool left_out = false;

	*count = 0;
	flow_line_program_start(header, &program);
	while (*count < ROWS_MAX - table->row_count && flow_line_program_next(&program, &row)) {
		++*count;
		if (!sequence.count++)
			left_out = !flow_code_ranges_have(&table->code, row.address);
		if (row.address < sequence.first)
			sequence.first = row.address;
		if (row.address > sequence.end)
			sequence.end = row.address;
		if (!row.ends)
			continue;
		if (!left_out && !add_sequence(table, &sequence))
			return false;
		sequence = (struct sequence){.first = UINT64_MAX, .unit = sequence.unit, .row = (uint32_t)*count};
	}
	return !program.bytes.failed && !common_cursor_left(&program.bytes) &&
	       (left_out || add_sequence(table, &sequence));
}

/* Adds a unit. A damaged unit has no rows. */
static void add_unit(struct flow_line_table *table, size_t offset, const struct flow_line_unit *header,
		     bool *in_strings)
{
	const size_t before = table->sequence_count;
	struct flow_line_names names;
	size_t count;

	if (!header->version || table->unit_count == NONE ||
	    !COMMON_VECTOR_GROW(table->units, table->unit_capacity, table->unit_count + 1))
		return;
	if (!add_sequences(table, header, &count))
		table->sequence_count = before;
	if (table->sequence_count == before)
		return;
	if (flow_line_names_read(header, &table->strings, &names)) {
		table->units[table->unit_count++] = (struct unit){.offset = offset, .count = count};
		table->row_count += count;
		table->needs_folders |= names.needs_folder;
		*in_strings |= names.in_strings;
	} else {
		table->sequence_count = before;
	}
	flow_line_names_free(&names);
}

static int compare_sequences(const void *left, const void *right)
{
	const struct sequence *a = left, *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

/* Begins a piece at the address. Addresses never decrease between calls. */
static bool add_piece(struct flow_line_table *table, uint64_t first, uint32_t sequence)
{
	if (table->piece_count && table->pieces[table->piece_count - 1].first == first)
		table->piece_count--;
	else if (!COMMON_VECTOR_GROW(table->pieces, table->piece_capacity, table->piece_count + 1))
		return false;
	table->pieces[table->piece_count++] = (struct piece){first, sequence};
	return true;
}

/* Closes the sequences that end at or before an address. An enclosing sequence continues behind a closed sequence. */
static bool end_sequences(struct flow_line_table *table, uint32_t *open, size_t *count, uint64_t address)
{
	bool room = true;

	while (room && *count && table->sequences[open[*count - 1]].end <= address) {
		const uint64_t end = table->sequences[open[--*count]].end;

		while (*count && table->sequences[open[*count - 1]].end <= end)
			--*count;
		room = add_piece(table, end, *count ? open[*count - 1] : NONE);
	}
	return room;
}

/*
 * Makes pieces. Sequences of a file may overlap if a linker has left out code but not its lines: such lines begin at 0,
 * which may be the address of other code. The sequence that begins last counts.
 */
static bool make_pieces(struct flow_line_table *table)
{
	uint32_t *open = malloc((table->sequence_count + 1) * sizeof(*open));
	size_t count = 0;
	bool room = open != NULL;

	if (table->sequence_count)
		qsort(table->sequences, table->sequence_count, sizeof(*table->sequences), compare_sequences);
	for (size_t i = 0; room && i < table->sequence_count; i++) {
		room = end_sequences(table, open, &count, table->sequences[i].first) &&
		       add_piece(table, table->sequences[i].first, (uint32_t)i);
		open[count++] = (uint32_t)i;
	}
	room = room && end_sequences(table, open, &count, UINT64_MAX);
	free(open);
	return room && table->piece_count;
}

/* ---- making -------------------------------------------------------------------------------------- */

static bool keep_section(struct flow_line_table *table, size_t number, struct common_cursor *section)
{
	uint8_t *copy = malloc(section->size + 1);

	if (!copy)
		return false;
	memcpy(copy, section->data, section->size);
	table->sections[number] = copy;
	*section = common_cursor(copy, section->size);
	return true;
}

struct flow_line_table *flow_lines_make(Elf *elf)
{
	struct flow_line_table *table = new_table();
	struct common_cursor section = flow_dwarf_section(elf, "debug_line");
	struct flow_line_unit unit;
	bool in_strings = false;
	size_t offset = 0;

	if (!table)
		return NULL;
	table->lines = section;
	table->strings.line_strings = flow_dwarf_section(elf, "debug_line_str");
	table->strings.strings = flow_dwarf_section(elf, "debug_str");
	if (!flow_code_ranges_read(elf, &table->code)) {
		flow_lines_free(table);
		return NULL;
	}
	for (; flow_line_unit_read(&section, &unit); offset = section.at)
		add_unit(table, offset, &unit, &in_strings);
	if (!in_strings)
		table->strings.strings = common_cursor(NULL, 0);
	flow_code_ranges_free(&table->code);
	if (make_pieces(table) && keep_section(table, 0, &table->lines) &&
	    keep_section(table, 1, &table->strings.line_strings) && keep_section(table, 2, &table->strings.strings))
		return table;
	flow_lines_free(table);
	return NULL;
}

/* Adds the lines as a sequence without end. */
static bool add_lines(struct flow_line_table *table, const struct elf_line *lines, size_t count)
{
	struct row *rows = malloc((count + 1) * sizeof(*rows));

	table->units = calloc(1, sizeof(*table->units));
	if (!rows || !table->units || !count || count > ROWS_MAX) {
		free(rows);
		return false;
	}
	table->unit_count = 1;
	for (size_t i = 0; i < count; i++)
		rows[i] = (struct row){lines[i].address, lines[i].file ? intern(table, lines[i].file) : NULL,
				       lines[i].line, (uint32_t)i, 0};
	sort_rows(rows, count);
	table->units[0] = (struct unit){.count = count, .rows = rows};
	return add_sequence(table, &(struct sequence){rows[0].address, UINT64_MAX, .count = (uint32_t)count});
}

struct flow_line_table *flow_lines_of(const struct elf_line *lines, size_t count)
{
	struct flow_line_table *table = new_table();

	if (table && add_lines(table, lines, count) && make_pieces(table))
		return table;
	flow_lines_free(table);
	return NULL;
}

/* ---- looking up ---------------------------------------------------------------------------------- */

/* Rows of a piece. */
struct rows {
	const struct row *list;
	size_t count;
};

static struct rows rows_of_piece(struct flow_line_table *table, size_t piece)
{
	const uint32_t number = table->pieces[piece].sequence;
	struct rows rows = {0};

	if (number == NONE)
		return rows;
	rows.list = rows_of(table, &table->sequences[number]);
	rows.count = rows.list ? table->sequences[number].count : 0;
	return rows;
}

static struct rows rows_at(struct flow_line_table *table, uint64_t address)
{
	/* number of pieces that begin at or before address */
	const size_t low = COMMON_PARTITION(table->piece_count, at, table->pieces[at].first <= address);

	return low ? rows_of_piece(table, low - 1) : (struct rows){0};
}

bool flow_lines_find(struct flow_line_table *table, uint64_t address, struct flow_line *line)
{
	const struct rows rows = rows_at(table, address);
	/* number of rows at or before address */
	const size_t low = COMMON_PARTITION(rows.count, at, rows.list[at].address <= address);

	if (!low || !rows.list[low - 1].file)
		return false;
	*line = (struct flow_line){rows.list[low - 1].file, rows.list[low - 1].line, rows.list[low - 1].discriminator};
	return true;
}

bool flow_lines_begins(struct flow_line_table *table, uint64_t address, uint32_t line)
{
	const struct rows rows = rows_at(table, address);
	size_t at = COMMON_PARTITION(rows.count, i, rows.list[i].address < address);

	while (at < rows.count && !rows.list[at].file)
		at++;
	return at < rows.count && rows.list[at].address == address && rows.list[at].line == line;
}

/* Visits the rows of a piece within [first, end). Rows without bytes contain no instruction. */
static int walk_rows(const struct rows *rows, uint64_t first, uint64_t end, flow_lines_visit *visit, void *context)
{
	size_t at = COMMON_PARTITION(rows->count, i, rows->list[i].address <= first);
	int status = 0;

	for (at -= at != 0; !status && at + 1 < rows->count && rows->list[at].address < end; at++) {
		const struct row *row = &rows->list[at];
		const uint64_t from = row->address > first ? row->address : first;
		const uint64_t to = row[1].address < end ? row[1].address : end;

		if (row->file && to > from)
			status = visit(context, from, to, row->file, row->line);
	}
	return status;
}

int flow_lines_walk(struct flow_line_table *table, flow_lines_visit *visit, void *context)
{
	int status = 0;

	for (size_t i = 0; !status && i < table->piece_count; i++) {
		const struct rows rows = rows_of_piece(table, i);
		const uint64_t end = i + 1 < table->piece_count ? table->pieces[i + 1].first : UINT64_MAX;

		status = walk_rows(&rows, table->pieces[i].first, end, visit, context);
	}
	return status;
}

int flow_lines_files(struct flow_line_table *table, flow_lines_file_visit *visit, void *context)
{
	struct flow_line_program program;
	struct flow_line_unit header;
	struct flow_line_row row;
	struct files files;
	int status = 0;

	for (size_t i = 0; !status && i < table->unit_count; i++) {
		const bool opened = open_files(table, &table->units[i], &header, &files);

		flow_line_program_start(&header, &program);
		while (opened && !status && flow_line_program_next(&program, &row)) {
			const bool is_new = row.file < files.names.file_count && !files.paths[row.file];
			const char *path = row.ends || !row.line || !is_new ? NULL : file_of(table, &files, row.file);

			status = path ? visit(context, path) : 0;
		}
		close_files(&files);
	}
	return status;
}
