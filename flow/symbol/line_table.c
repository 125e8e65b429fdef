/* SPDX-License-Identifier: BSD-2-Clause */
/* DWARF line tables by libdw, flattened into one sorted array. */
#include "flow/symbol/line_table.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash_map.h"
#include "common/partition.h"
#include "common/vector.h"

#define ROWS_MAX ((size_t)1 << 27)

/* Holds from its address up to the next row's. */
struct row {
	uint64_t address;
	uint32_t file; /* index in files; NO_FILE: nothing is known from here on */
	uint32_t line;
	uint32_t order; /* in which it came: of rows of one address, the last one holds */
};

#define NO_FILE UINT32_MAX

struct flow_line_table {
	struct row *rows;
	size_t row_count;
	size_t row_capacity;
	char **files; /* each owned */
	size_t file_count;
	struct common_byte_map by_name; /* index in files; only while the table is made */
};

void flow_lines_free(struct flow_line_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->file_count; i++)
		free(table->files[i]);
	free(table->files);
	free(table->rows);
	common_byte_map_free(&table->by_name);
	free(table);
}

/* NO_FILE without memory. */
static uint32_t intern_file(struct flow_line_table *table, const char *name)
{
	const uint64_t *known = common_byte_map_get(&table->by_name, name, strlen(name));
	char *copy;

	if (known)
		return (uint32_t)*known;
	if (!common_vector_room(&table->files, table->file_count, sizeof(*table->files)))
		return NO_FILE;
	copy = strdup(name);
	if (!copy || common_byte_map_put(&table->by_name, name, strlen(name), table->file_count) < 0) {
		free(copy);
		return NO_FILE;
	}
	table->files[table->file_count] = copy;
	return (uint32_t)table->file_count++;
}

static bool add_row(struct flow_line_table *table, const struct row *row)
{
	if (table->row_count == ROWS_MAX || !COMMON_VECTOR_GROW(table->rows, table->row_capacity, table->row_count + 1))
		return false;
	table->rows[table->row_count] = *row;
	table->rows[table->row_count].order = (uint32_t)table->row_count;
	table->row_count++;
	return true;
}

/* A name that is no path from the root is one from the folder that the unit was compiled in. */
static uint32_t find_file(struct flow_line_table *table, const char *folder, const char *name)
{
	const size_t size = folder ? strlen(folder) : 0;
	uint32_t file;
	char *path;

	if (*name == '/' || !size || *folder != '/')
		return intern_file(table, name);
	path = malloc(size + strlen(name) + 2);
	if (!path)
		return NO_FILE;
	memcpy(path, folder, size);
	path[size] = '/';
	strcpy(path + size + (folder[size - 1] != '/'), name);
	file = intern_file(table, path);
	free(path);
	return file;
}

/* Of a unit: where it was compiled, and the file of the last row. */
struct unit {
	const char *folder; /* NULL: not known */
	const char *name;
	uint32_t file;
};

/* One row of libdw; false when no more can be held. */
static bool add_line(struct flow_line_table *table, Dwarf_Line *line, struct unit *unit)
{
	struct row row = {.file = NO_FILE};
	const char *name = dwarf_linesrc(line, NULL, NULL);
	Dwarf_Addr address;
	bool ends = false;
	int number = 0;

	if (dwarf_lineaddr(line, &address) != 0 || dwarf_lineendsequence(line, &ends) != 0 ||
	    dwarf_lineno(line, &number) != 0)
		return true;
	row.address = address;
	if (!ends && name && number > 0) {
		if (name != unit->name)
			unit->file = find_file(table, unit->folder, name);
		unit->name = name;
		row.file = unit->file;
		row.line = (uint32_t)number;
	}
	return add_row(table, &row);
}

static bool add_unit(struct flow_line_table *table, Dwarf_Die *die)
{
	struct unit unit = {.file = NO_FILE};
	Dwarf_Attribute folder;
	Dwarf_Lines *lines;
	size_t count;

	if (dwarf_getsrclines(die, &lines, &count) != 0)
		return true;
	unit.folder = dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &folder));
	for (size_t i = 0; i < count; i++)
		if (!add_line(table, dwarf_onesrcline(lines, i), &unit))
			return false;
	return true;
}

/* Where one sequence ends and the next begins at once, the beginning counts: it comes last. */
static int compare_rows(const void *left, const void *right)
{
	const struct row *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if ((a->file != NO_FILE) != (b->file != NO_FILE))
		return a->file != NO_FILE ? 1 : -1;
	return (a->order > b->order) - (a->order < b->order);
}

static void add_units(struct flow_line_table *table, Dwarf *dwarf)
{
	Dwarf_Off offset = 0, next;
	size_t header_size;

	while (dwarf_nextcu(dwarf, offset, &next, &header_size, NULL, NULL, NULL) == 0) {
		Dwarf_Die unit;

		if (dwarf_offdie(dwarf, offset + header_size, &unit) && !add_unit(table, &unit))
			break;
		offset = next;
	}
}

/* The table once all rows are there; NULL where there are none. */
static struct flow_line_table *finish(struct flow_line_table *table)
{
	if (!table || !table->row_count) {
		flow_lines_free(table);
		return NULL;
	}
	common_byte_map_free(&table->by_name);
	qsort(table->rows, table->row_count, sizeof(*table->rows), compare_rows);
	return table;
}

struct flow_line_table *flow_lines_make(Dwarf *dwarf)
{
	struct flow_line_table *table = calloc(1, sizeof(*table));

	if (table)
		add_units(table, dwarf);
	return finish(table);
}

struct flow_line_table *flow_lines_of(const struct elf_line *lines, size_t count)
{
	struct flow_line_table *table = calloc(1, sizeof(*table));
	bool room = table != NULL;

	for (size_t i = 0; room && i < count; i++) {
		const struct row row = {.address = lines[i].address,
					.file = lines[i].file ? intern_file(table, lines[i].file) : NO_FILE,
					.line = lines[i].line};

		room = add_row(table, &row);
	}
	return finish(table);
}

bool flow_lines_find(const struct flow_line_table *table, uint64_t address, const char **file, uint32_t *line)
{
	/* Rows at or before address. */
	const size_t low = COMMON_PARTITION(table->row_count, at, table->rows[at].address <= address);
	const struct row *row;
	row = low ? &table->rows[low - 1] : NULL;
	if (!row || row->file == NO_FILE)
		return false;
	*file = table->files[row->file];
	*line = row->line;
	return true;
}

bool flow_lines_begins(const struct flow_line_table *table, uint64_t address, uint32_t line)
{
	size_t at = COMMON_PARTITION(table->row_count, i, table->rows[i].address < address);

	while (at < table->row_count && table->rows[at].file == NO_FILE)
		at++;
	return at < table->row_count && table->rows[at].address == address && table->rows[at].line == line;
}

/* Rows without bytes of their own are of no instruction. */
int flow_lines_walk(const struct flow_line_table *table, flow_lines_visit *visit, void *context)
{
	int status = 0;

	for (size_t i = 0; !status && i + 1 < table->row_count; i++) {
		const struct row *row = &table->rows[i];

		if (row->file != NO_FILE && row[1].address > row->address)
			status = visit(context, row->address, row[1].address, table->files[row->file], row->line);
	}
	return status;
}
