/* SPDX-License-Identifier: BSD-2-Clause */
/* Text of ptl-dump io: the first lines, and a list for each medium. */
#include <inttypes.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/command/io.h"
#include "dump/print/table.h"

static const char *const headings[USAGE_MEDIA] = {
	[USAGE_DISK] = "disks",     [USAGE_DISK_FILE] = "files on disks",     [USAGE_FILE] = "files and descriptors",
	[USAGE_SOCKET] = "sockets", [USAGE_INTERFACE] = "network interfaces",
};
static const char *const by_headings[] = {
	[USAGE_BY_OBJECT] = "", [USAGE_BY_PROCESS] = ", by process", [USAGE_BY_USE] = ", by process and name"};

static void add_process(const struct dump_io_run *io_run, struct ptl_bytes *text, uint32_t process)
{
	const uint32_t pid = io_run->io->processes[process].pid;
	const char *name;

	if (pid == PTL_NO_ID) {
		common_text_add(text, "[unknown]");
		return;
	}
	name = usage_io_process_name(io_run->io, io_run->timeline, process);
	common_text_safe(text, name);
	common_text_format(text, "%s%" PRIu32, *name ? " " : "", pid);
}

/* ---- the first lines ------------------------------------------------------------------------------- */

static void add_bytes(struct ptl_bytes *text, const struct usage_io_sum *sum, const char *read, const char *write)
{
	const struct {
		enum usage_operation operation;
		const char *what;
	} both[] = {{USAGE_READ, read}, {USAGE_WRITE, write}};

	for (size_t i = 0; i < 2; i++) {
		if (!sum->count[both[i].operation])
			continue;
		common_text_add(text, ", ");
		common_text_size(text, sum->bytes[both[i].operation]);
		common_text_format(text, " %s", both[i].what);
	}
}

/* Writes a line: the process that used most of a medium, with object and share. */
static int add_medium(const struct dump_io_run *io_run, struct ptl_bytes *text, enum usage_medium medium)
{
	struct usage_io_rows rows;
	const struct usage_io_row *first;
	int status = usage_io_rows_make(&rows, io_run->io, io_run->input, medium, USAGE_BY_USE);

	if (status == 0 && rows.count) {
		first = &rows.rows[0];
		common_text_format(text, "%-13s", usage_medium_names[medium]);
		common_text_add(text, dump_bold(io_run->run));
		add_process(io_run, text, first->process);
		common_text_format(text, "%s used ", dump_plain(io_run->run));
		common_text_add(text, dump_bold(io_run->run));
		common_text_safe(text, io_run->io->objects[first->object].name);
		common_text_format(text, "%s most: ", dump_plain(io_run->run));
		common_text_count(text, usage_io_operations(&first->sum));
		common_text_add(text, " operations");
		add_bytes(text, &first->sum, "read", "written");
		if (first->sum.unfinished) {
			common_text_add(text, ", ");
			common_text_count(text, first->sum.unfinished);
			common_text_add(text, " without an end");
		}
		if (first->sum.time) {
			common_text_add(text, ", ");
			common_text_duration(text, first->sum.time);
			common_text_add(text, " (");
			common_text_share(text, first->sum.time, rows.sum.time);
			common_text_add(text, " of all)");
		}
		common_text_add(text, "\n");
	}
	usage_io_rows_free(&rows);
	return status;
}

static int print_summary(const struct dump_io_run *io_run)
{
	struct ptl_bytes text = {0};
	int status = 0;

	common_text_format(&text, "%-13s", "window");
	common_text_duration(&text, io_run->io->last - io_run->io->first);
	common_text_add(&text, ", ");
	common_text_count(&text, io_run->io->events);
	common_text_format(&text, " events%s", io_run->io->lost ? ", lost events: " : "");
	if (io_run->io->lost)
		common_text_count(&text, io_run->io->lost);
	common_text_add(&text, "\n");
	for (unsigned medium = 0; status == 0 && medium < USAGE_MEDIA; medium++)
		if (io_run->media >> medium & 1)
			status = add_medium(io_run, &text, (enum usage_medium)medium);
	if (text.failed)
		status = common_fail_memory("the summary", text.size);
	common_text_write(&text, io_run->run->out);
	common_bytes_free(&text);
	return status;
}

/* ---- lists ----------------------------------------------------------------------------------------- */

static void count_cell(struct dump_table *table, uint64_t count)
{
	if (count)
		common_text_count(&table->text, count);
	else
		common_text_add(&table->text, "-");
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static void bytes_cell(struct dump_table *table, uint64_t bytes)
{
	if (bytes)
		common_text_size(&table->text, bytes);
	else
		common_text_add(&table->text, "-");
	dump_cell_text(table, DUMP_STYLE_BOLD);
}

static void time_cell(struct dump_table *table, uint64_t time)
{
	if (time)
		common_text_duration(&table->text, time);
	else
		common_text_add(&table->text, "-");
	dump_cell_text(table, DUMP_STYLE_PLAIN);
}

static void sum_cells(struct dump_table *table, const struct usage_io_sum *sum)
{
	count_cell(table, sum->count[USAGE_READ]);
	bytes_cell(table, sum->bytes[USAGE_READ]);
	count_cell(table, sum->count[USAGE_WRITE]);
	bytes_cell(table, sum->bytes[USAGE_WRITE]);
	count_cell(table, sum->count[USAGE_OTHER]);
	count_cell(table, sum->errors);
	count_cell(table, sum->unfinished);
	time_cell(table, sum->time);
	time_cell(table, sum->timed ? sum->time / sum->timed : 0);
	time_cell(table, sum->longest);
}

#define SUM_COLUMNS                                                                                                    \
	{"READS", true}, {"BYTES", true}, {"WRITES", true}, {"BYTES", true}, {"OTHERS", true}, {"ERRORS", true},       \
		{"UNFINISHED", true}, {"TIME", true}, {"MEAN", true},                                                  \
	{                                                                                                              \
		"LONGEST", true                                                                                        \
	}

static void put_row(const struct dump_io_run *io_run, struct dump_table *table, enum usage_io_by by,
		    const struct usage_io_row *row)
{
	sum_cells(table, &row->sum);
	if (by == USAGE_BY_OBJECT)
		time_cell(table, io_run->io->objects[row->object].busy);
	if (by != USAGE_BY_OBJECT) {
		add_process(io_run, &table->text, row->process);
		dump_cell_text(table, DUMP_STYLE_PLAIN);
	}
	if (by != USAGE_BY_PROCESS)
		dump_cell(table, DUMP_STYLE_PLAIN, io_run->io->objects[row->object].name);
}

static int print_list(const struct dump_io_run *io_run, enum usage_medium medium, enum usage_io_by by)
{
	static const struct dump_column by_object[] = {SUM_COLUMNS, {"BUSY", true}, {"NAME", false}};
	static const struct dump_column by_process[] = {SUM_COLUMNS, {"PROCESS", false}};
	static const struct dump_column by_use[] = {SUM_COLUMNS, {"PROCESS", false}, {"NAME", false}};
	static const struct dump_table tables[] = {
		[USAGE_BY_OBJECT] = {.columns = by_object, .column_count = 12},
		[USAGE_BY_PROCESS] = {.columns = by_process, .column_count = 11},
		[USAGE_BY_USE] = {.columns = by_use, .column_count = 12},
	};
	struct dump_run *run = io_run->run;
	struct dump_table table = tables[by];
	struct usage_io_rows rows;
	int status = usage_io_rows_make(&rows, io_run->io, io_run->input, medium, by);
	size_t shown = 0;

	for (; status == 0 && shown < rows.count && (!io_run->limited || shown < io_run->limit); shown++)
		put_row(io_run, &table, by, &rows.rows[shown]);
	if (shown)
		fprintf(run->out, "\n%s%s%s%s\n", dump_bold(run), headings[medium], by_headings[by], dump_plain(run));
	if (status == 0)
		status = dump_table_print(&table, run);
	if (status == 0 && shown < rows.count)
		fprintf(run->out, "%sand %zu more%s\n", dump_dim(run), rows.count - shown, dump_plain(run));
	usage_io_rows_free(&rows);
	return status;
}

int dump_io_text(const struct dump_io_run *io_run)
{
	int status = print_summary(io_run);

	for (unsigned medium = 0; status == 0 && medium < USAGE_MEDIA; medium++)
		for (unsigned by = USAGE_BY_OBJECT; status == 0 && by <= USAGE_BY_USE; by++)
			if ((io_run->media >> medium & 1) &&
			    (io_run->all ? by != USAGE_BY_USE : by == (unsigned)io_run->by))
				status = print_list(io_run, (enum usage_medium)medium, (enum usage_io_by)by);
	return status;
}
