/* SPDX-License-Identifier: BSD-2-Clause */
/* JSON of ptl-dump io: an object a line. */
#include "dump/command/io.h"
#include "dump/run/run.h"

static void put_sum(const struct dump_io_run *io_run, const struct usage_io_sum *sum)
{
	struct common_json *json = &io_run->run->json_out;

	common_json_u64(json, "reads", sum->count[USAGE_READ]);
	common_json_u64(json, "read_bytes", sum->bytes[USAGE_READ]);
	common_json_u64(json, "writes", sum->count[USAGE_WRITE]);
	common_json_u64(json, "written_bytes", sum->bytes[USAGE_WRITE]);
	common_json_u64(json, "others", sum->count[USAGE_OTHER]);
	common_json_u64(json, "errors", sum->errors);
	common_json_u64(json, "unfinished", sum->unfinished);
	common_json_u64(json, "unfinished_time", sum->unfinished_time);
	common_json_u64(json, "timed", sum->timed);
	common_json_u64(json, "time", sum->time);
	common_json_u64(json, "longest", sum->longest);
	dump_json_time(io_run->run, "longest_end", sum->longest_at);
}

static void put_row(const struct dump_io_run *io_run, const char *type, enum usage_medium medium,
		    const struct usage_io_row *row)
{
	struct common_json *json = &io_run->run->json_out;

	common_json_object(json, NULL);
	common_json_string(json, "type", type);
	common_json_string(json, "medium", usage_medium_names[medium]);
	if (row->process != FLOW_NONE) {
		if (io_run->io->processes[row->process].pid != PTL_NO_ID)
			common_json_u64(json, "pid", io_run->io->processes[row->process].pid);
		common_json_string(json, "process", usage_io_process_name(io_run->io, io_run->timeline, row->process));
	}
	if (row->object != FLOW_NONE) {
		const struct usage_io_object *object = &io_run->io->objects[row->object];

		common_json_string(json, "name", object->name);
		if (object->has_busy && row->process == FLOW_NONE)
			common_json_u64(json, "busy", object->busy);
	}
	put_sum(io_run, &row->sum);
	common_json_object_end(json);
	common_json_line(json);
}

static int put_rows(const struct dump_io_run *io_run, enum usage_medium medium, enum usage_io_by by)
{
	static const char *const types[] = {
		[USAGE_BY_OBJECT] = "object", [USAGE_BY_PROCESS] = "process", [USAGE_BY_USE] = "use"};
	struct usage_io_rows rows;
	int status = usage_io_rows_make(&rows, io_run->io, io_run->input, medium, by);

	for (size_t i = 0; status == 0 && i < rows.count && (!io_run->limited || i < io_run->limit); i++) {
		put_row(io_run, types[by], medium, &rows.rows[i]);
		status = dump_output_check(io_run->run);
	}
	usage_io_rows_free(&rows);
	return status;
}

int dump_io_json(const struct dump_io_run *io_run)
{
	struct common_json *json = &io_run->run->json_out;
	int status = 0;

	common_json_object(json, NULL);
	common_json_string(json, "type", "window");
	dump_json_time(io_run->run, "start", io_run->io->first);
	dump_json_time(io_run->run, "end", io_run->io->last);
	common_json_u64(json, "events", io_run->io->events);
	common_json_u64(json, "without_beginning", io_run->io->unbegun);
	common_json_u64(json, "without_end", io_run->io->unended);
	common_json_u64(json, "lost_events", io_run->io->lost);
	common_json_object_end(json);
	common_json_line(json);
	for (unsigned medium = 0; status == 0 && medium < USAGE_MEDIA; medium++)
		for (unsigned by = USAGE_BY_OBJECT; status == 0 && by <= USAGE_BY_USE; by++)
			if ((io_run->media >> medium & 1) && (io_run->all || by == (unsigned)io_run->by))
				status = put_rows(io_run, (enum usage_medium)medium, (enum usage_io_by)by);
	return status;
}
