/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads of each CPU over time, from context switches. Packed like calls, with numbers for names. */
#include <string.h>

#include "common/error.h"
#include "dump/export/html/html.h"
#include "dump/export/timeline/cpu_slice.h"

#define SHARE 3       /* CPUs get a third of the timeline's room */
#define SLICE_BYTES 5 /* three numbers in base64; dump_html_fits expects a sixth of their bytes */

struct cpus {
	struct dump_html *html;
	uint64_t start_time, last; /* last: start of the last slice */
	struct ptl_bytes packed, text;
	struct ptl_bytes names; /* zero-terminated names */
	struct common_byte_map by_name;
	uint64_t name_count, count, cut;
	size_t taken; /* bytes for dump_html_fits, over all CPUs */
};

static int name_number(struct cpus *cpus, const char *name, uint64_t *number)
{
	const uint64_t *known = common_byte_map_get(&cpus->by_name, name, strlen(name));

	*number = known ? *known : cpus->name_count;
	if (known)
		return 0;
	cpus->name_count++;
	cpus->taken += strlen(name);
	common_write_bytes(&cpus->names, name, strlen(name) + 1);
	return common_byte_map_put(&cpus->by_name, name, strlen(name), *number);
}

/* Appends a slice: [time since the last slice, duration, number of the name]. */
static int add_slice(void *context, uint64_t from, uint64_t to, const char *name)
{
	struct cpus *cpus = context;
	const uint64_t start = from > cpus->start_time ? from - cpus->start_time : 0;
	const uint64_t end = to > cpus->start_time ? to - cpus->start_time : 0;
	uint64_t number;
	int status;

	if (!dump_html_fits(&cpus->html->room, (cpus->taken + SLICE_BYTES + strlen(name)) * SHARE)) {
		cpus->cut++;
		return 0;
	}
	status = name_number(cpus, name, &number);
	common_write_varint(&cpus->packed, start - cpus->last);
	common_write_varint(&cpus->packed, end - start);
	common_write_varint(&cpus->packed, number);
	cpus->taken += SLICE_BYTES;
	cpus->last = start;
	cpus->count++;
	return status;
}

static int put_cpu(struct cpus *cpus, struct dump_run *run, const struct dump_cpu_slices *slices, size_t i)
{
	struct common_json *json = &run->json_out;
	int status;

	cpus->packed.size = cpus->text.size = 0;
	cpus->last = cpus->count = 0;
	status = dump_cpu_slices_visit(slices, i, add_slice, cpus);
	dump_html_base64(&cpus->text, cpus->packed.data, cpus->packed.size);
	if (status < 0 || !cpus->count)
		return status;
	if (cpus->packed.failed || cpus->text.failed || cpus->names.failed)
		return common_fail_memory("context switches", cpus->packed.size);
	common_json_object(json, NULL);
	common_json_u64(json, "cpu", dump_cpu_slices_cpu(slices, i));
	common_json_u64(json, "count", cpus->count);
	common_json_string_n(json, "data", (const char *)cpus->text.data, cpus->text.size);
	common_json_object_end(json);
	return dump_output_check(run);
}

int dump_html_cpus(struct dump_html *html, struct dump_run *run, const struct dump_html_trace *trace)
{
	const struct ptl_machine *machine = ptl_trace_machine(run->trace);
	struct cpus cpus = {.html = html, .start_time = machine->start_time};
	struct common_json *json = &run->json_out;
	struct dump_cpu_slices slices;
	int status = dump_cpu_slices_read(&slices, &trace->path_run.calls);

	common_json_array(json, "cpus");
	for (size_t i = 0; status == 0 && i < slices.count; i++)
		status = put_cpu(&cpus, run, &slices, i);
	common_json_array_end(json);
	common_json_array(json, "running");
	for (size_t at = 0; status == 0 && at < cpus.names.size; at += strlen((const char *)cpus.names.data + at) + 1)
		common_json_string(json, NULL, (const char *)cpus.names.data + at);
	common_json_array_end(json);
	dump_left_out_add(&html->left_out, cpus.cut, "time that a thread was on a CPU",
			  "times that threads were on a CPU");
	common_bytes_free(&cpus.packed);
	common_bytes_free(&cpus.text);
	common_bytes_free(&cpus.names);
	common_byte_map_free(&cpus.by_name);
	dump_cpu_slices_free(&slices);
	return status;
}
