/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes the statements around rows for psql. All values of a trace are rows for COPY, so no value can become a
 * statement.
 */
#include "dump/export/table/row_postgresql.h"

#include "common/text/guid.h"
#include "common/text/text.h"
#include "dump/print/event_time.h"

#define DAY_SIZE 10 /* length of "2026-11-21" */

void dump_row_postgresql_head(struct ptl_bytes *text)
{
	common_text_add(text, "\\set ON_ERROR_STOP on\nSET client_encoding = 'UTF8';\n");
}

/*
 * Creates the partition of the day, before the transaction, so that other loads for this day need not wait for the
 * transaction's end.
 */
static void add_day(struct ptl_bytes *text, const struct dump_row_table *table, int64_t started)
{
	const size_t before = text->size;
	size_t start;

	common_text_format(text, "CALL ptl_day('%s', '", table->name);
	start = text->size;
	dump_text_system_time(text, started);
	if (text->failed || text->size < start + DAY_SIZE) {
		text->size = before;
		return;
	}
	text->size = start + DAY_SIZE;
	common_text_add(text, "');\n");
}

void dump_row_postgresql_begin(struct ptl_bytes *text, const struct dump_row_table *table, const struct dump_run *run)
{
	const struct ptl_machine *machine = ptl_trace_machine(run->trace);
	char words[PTL_GUID_TEXT_SIZE];
	struct ptl_guid id;
	const char *between = "";
	int64_t wall;

	ptl_trace_id(run->trace, &id, &wall);
	common_guid_format(&id, words);
	if (machine->wall_start)
		add_day(text, table, machine->wall_start);
	common_text_format(text, "BEGIN;\nCALL ptl_replace('%s', '%s');\nCOPY \"%s\" (", table->name, words,
			   table->name);
	for (size_t i = 0; i < DUMP_ROW_IDENTITY + table->column_count; i++) {
		if (dump_row_column(table, i)->left_out_of & DUMP_ROW_NOT_FLAT)
			continue;
		common_text_format(text, "%s\"%s\"", between, dump_row_column(table, i)->name);
		between = ", ";
	}
	common_text_add(text, ") FROM stdin;\n");
}

void dump_row_postgresql_end(struct ptl_bytes *text)
{
	common_text_add(text, "\\.\nCOMMIT;\n");
}
