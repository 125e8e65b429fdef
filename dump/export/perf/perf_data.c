/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts events and packets of a trace to records of perf.data. */
#include "dump/export/perf/perf_data.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/error.h"
#include "common/text/text.h"
#include "dump/export/perf/perf_cache.h"
#include "dump/export/perf/perf_event.h"
#include "dump/export/perf/perf_file.h"
#include "dump/export/perf/perf_kernel.h"
#include "flow/segment/packet_walk.h"
#include "flow/symbol/symbol.h"
#include "format/metadata/pt_filter.h"
#include "format/reader/trace_end.h"

#define CHUNK ((size_t)1 << 20) /* Bytes of packets per record. A multiple of 8, so only the last record is padded. */

struct perf {
	struct dump_run *run;
	struct flow_symbols *symbols;
	struct dump_perf_file file;
	struct dump_perf_cache cache;
	struct dump_perf_code code;
	struct dump_perf_kernel kernel;
	struct dump_perf_guests guests;
	struct dump_perf_kernel *guest_kernels; /* owned; by machine, from 1 on */
	struct dump_perf_events events;
	struct common_hash_map threads; /* pid by tid */
	struct ptl_bytes storage, name;
	bool guest; /* packets come from a virtual machine */
	uint64_t holes;
	uint64_t missing;
	uint64_t lost; /* losses without a record of perf */
};

/* Code of the kernel, process 0, is executed by all processes. */
static bool wants(const struct perf *perf, uint32_t pid)
{
	return !pid || dump_perf_guests_is_kernel(&perf->guests, pid) ||
	       common_id_set_has(&perf->run->options->filter.pids, pid);
}

/* Whether the options select an event that is no process, thread or mapping. */
static bool selects(const struct perf *perf, const struct ptl_event *event)
{
	const struct analysis_filter *filter = &perf->run->options->filter;

	return analysis_filter_wants_thread(filter, event->pid, event->tid) &&
	       (event->cpu == PTL_NO_CPU || common_id_set_has(&filter->cpus, event->cpu));
}

/* Returns the kernel whose code a process has; NULL: the process is no kernel. */
static struct dump_perf_kernel *kernel_of(struct perf *perf, uint32_t pid)
{
	if (!pid)
		return &perf->kernel;
	return dump_perf_guests_is_kernel(&perf->guests, pid) ? &perf->guest_kernels[pid / PTL_MACHINE_IDS] : NULL;
}

/* Finds the virtual machines, which the other events refer to. */
static int gather_guests(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct perf *perf = context;

	(void)trace;
	return dump_perf_guests_note(&perf->guests, event);
}

/* Whether the stream has packets that the streams of the host have, too. */
static bool is_guest_stream(const struct perf *perf, const struct ptl_stream *stream)
{
	return dump_perf_guests_machine(&perf->guests, stream->cpu) != 0;
}

/* ---- code ---------------------------------------------------------------------------------------- */

static bool is_mapping(uint8_t opcode)
{
	return opcode == PTL_OPCODE_LOAD || opcode == PTL_OPCODE_START_RUNDOWN;
}

/* Whether the event changes code in memory. */
static bool is_change(const struct ptl_event *event)
{
	return ptl_code_decode(event, &(struct ptl_code_event){0}) == 0;
}

/* Describes code without a file as an image. */
static void image_of_code(const struct ptl_code_event *code, struct ptl_image_event *image)
{
	*image = (struct ptl_image_event){.base = code->base,
					  .size = code->size,
					  .process_id = code->process_id,
					  .default_base = code->base,
					  .file_name = "//code",
					  .has_code = true};
	memcpy(image->code, code->code, PTL_HASH_SIZE);
}

/* Reads an event that maps code. Returns false for other events and unselected processes. */
static bool take_mapping(struct perf *perf, const struct ptl_event *event, struct ptl_image_event *image)
{
	struct ptl_code_event code;

	perf->storage.size = 0;
	if (ptl_image_decode(event, &perf->storage, image) == 0)
		return is_mapping(event->descriptor.opcode) && wants(perf, image->process_id);
	if (ptl_code_decode(event, &code) < 0)
		return false;
	image_of_code(&code, image);
	return wants(perf, image->process_id);
}

/* Adds a mapping's code to the cache, or to the code of the kernel. */
static int gather_mapping(struct perf *perf, const struct ptl_event *event, const struct ptl_image_event *image)
{
	const struct ptl_symbol_table *symbols = flow_symbols_table(perf->symbols, image);
	const bool old = event->descriptor.opcode == PTL_OPCODE_START_RUNDOWN || event->time <= perf->file.start;
	struct dump_perf_kernel *kernel = kernel_of(perf, image->process_id);

	if (!kernel)
		return image->has_code ? dump_perf_cache_add(&perf->cache, image, symbols) : 0;
	if (!is_change(event))
		return dump_perf_kernel_add(kernel, event, image, symbols, old);
	dump_perf_kernel_fill(kernel, image);
	return 0;
}

static int gather_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct perf *perf = context;
	struct dump_perf_kernel *kernel;
	struct ptl_image_event image;
	int status;

	perf->file.switches |= !dump_perf_guests_machine(&perf->guests, event->cpu) &&
			       event->descriptor.opcode == PTL_OPCODE_CONTEXT_SWITCH &&
			       ptl_switch_decode(event, &(struct ptl_switch_event){0}) == 0;
	if (take_mapping(perf, event, &image))
		return gather_mapping(perf, event, &image);
	if (!selects(perf, event))
		return 0;
	status = dump_perf_events_gather(&perf->events, &perf->file, trace, event);
	if (status)
		return status;
	kernel = kernel_of(perf, event->pid == PTL_NO_ID ? 0 : event->pid);
	return dump_perf_kernel_note(kernel ? kernel : &perf->kernel, event);
}

/*
 * Returns the file name for perf. perf substitutes its own files for some names: the vdso of its machine, and files of
 * JITs in /tmp. The trace's names must not match these.
 */
static const char *name_for_perf(struct perf *perf, const char *name)
{
	if (*name == '/' && name[1] != '/' && strncmp(name, "/dev/zero", 9) != 0 && strncmp(name, "/anon_", 6) != 0 &&
	    strncmp(name, "/SYSV", 5) != 0)
		return name;
	perf->name.size = 0;
	common_text_add(&perf->name, "/ptl/");
	common_text_add(&perf->name, name + strspn(name, "/"));
	return common_text_string(&perf->name);
}

static void put_mapping(struct perf *perf, const struct dump_perf_place *place, const struct ptl_image_event *image)
{
	struct dump_perf_map map = {.base = image->base,
				    .size = image->size,
				    .offset = image->file_offset,
				    .name = name_for_perf(perf, image->file_name),
				    .has_build_id = image->build_id_size || image->has_code};
	const struct dump_perf_object *object;

	dump_perf_build_id(image, map.build_id);
	object = dump_perf_cache_find(&perf->cache, map.build_id);
	map.offset += object ? object->shift : 0;
	dump_perf_mmap(&perf->file, place, &map);
}

/* ---- processes and threads ----------------------------------------------------------------------- */

/* Returns the name of a process for perf. Kernel threads, "[kworker/0:1]", have no brackets there. */
static const char *program_name(struct perf *perf, const struct ptl_process_event *process)
{
	const char *name = process->image_file_name;
	const size_t size = strlen(name);

	if (size < 3 || *name != '[' || name[size - 1] != ']')
		return common_base_name(name);
	perf->name.size = 0;
	common_write_bytes(&perf->name, name + 1, size - 2);
	return common_text_string(&perf->name);
}

static int put_process(struct perf *perf, const struct dump_perf_place *like, const struct ptl_process_event *process,
		       uint8_t opcode)
{
	const uint64_t time = opcode == PTL_OPCODE_START_RUNDOWN ? dump_perf_time(&perf->file, like->time) : like->time;
	const struct dump_perf_place place = {process->process_id, process->process_id, like->cpu, time};
	const bool is_child = common_hash_map_get(&perf->threads, process->parent_id) != NULL;

	if (opcode == PTL_OPCODE_END) {
		dump_perf_exit(&perf->file, &place, process->parent_id);
		return 0;
	}
	if (opcode == PTL_OPCODE_END_RUNDOWN)
		return 0;
	if (opcode == PTL_OPCODE_START && is_child)
		dump_perf_fork(&perf->file, &place, process->parent_id);
	dump_perf_comm(&perf->file, &place, program_name(perf, process), opcode == PTL_OPCODE_EXEC);
	return common_hash_map_put(&perf->threads, process->process_id, process->process_id);
}

static int put_thread(struct perf *perf, const struct dump_perf_place *like, const struct ptl_thread_event *thread,
		      uint8_t opcode)
{
	const uint64_t time = opcode == PTL_OPCODE_START_RUNDOWN ? dump_perf_time(&perf->file, like->time) : like->time;
	const struct dump_perf_place place = {thread->process_id, thread->thread_id, like->cpu, time};

	if (opcode == PTL_OPCODE_END_RUNDOWN)
		return 0;
	if (thread->thread_id == thread->process_id) {
		if (*thread->name && opcode != PTL_OPCODE_END)
			dump_perf_comm(&perf->file, &place, thread->name, false);
		return 0;
	}
	if (opcode == PTL_OPCODE_END) {
		dump_perf_exit(&perf->file, &place, thread->process_id);
		return 0;
	}
	if (!common_hash_map_get(&perf->threads, thread->thread_id))
		dump_perf_fork(&perf->file, &place, thread->process_id);
	if (*thread->name)
		dump_perf_comm(&perf->file, &place, thread->name, false);
	return common_hash_map_put(&perf->threads, thread->thread_id, thread->process_id);
}

static struct dump_perf_place place_of(const struct perf *perf, const struct ptl_event *event, uint32_t tid)
{
	const uint64_t *pid = common_hash_map_get(&perf->threads, tid);

	return (struct dump_perf_place){pid ? (uint32_t)*pid : tid, tid, event->cpu, event->time};
}

static void put_switch(struct perf *perf, const struct ptl_event *event, const struct ptl_switch_event *change)
{
	const struct dump_perf_place from = place_of(perf, event, change->old_thread),
				     to = place_of(perf, event, change->new_thread);

	dump_perf_switch(&perf->file, &from, &to);
}

/* Writes an event that maps code. */
static int put_mapped(struct perf *perf, const struct ptl_event *event, const struct ptl_image_event *image)
{
	const bool rundown = event->descriptor.opcode == PTL_OPCODE_START_RUNDOWN;
	const struct dump_perf_kernel *kernel = kernel_of(perf, image->process_id);
	const struct dump_perf_place place = {image->process_id,
					      event->tid == PTL_NO_ID ? image->process_id : event->tid, event->cpu,
					      rundown ? dump_perf_time(&perf->file, event->time) : event->time};

	if (!kernel)
		put_mapping(perf, &place, image);
	else
		dump_perf_kernel_change(kernel, &perf->file, &perf->code, event, image, !is_change(event),
					&perf->missing);
	return perf->name.failed ? common_fail_memory("a name", perf->name.size) : 0;
}

static int put_event(void *context, struct ptl_trace *trace, const struct ptl_event *event)
{
	struct perf *perf = context;
	const struct dump_perf_place place = {event->pid, event->tid, event->cpu, event->time};
	const uint8_t opcode = event->descriptor.opcode;
	struct ptl_process_event process;
	struct ptl_switch_event change;
	struct ptl_thread_event thread;
	struct ptl_image_event image;

	if (take_mapping(perf, event, &image))
		return put_mapped(perf, event, &image);
	perf->storage.size = 0;
	if (ptl_process_decode(event, &perf->storage, &process) == 0)
		return !kernel_of(perf, process.process_id) && wants(perf, process.process_id)
			       ? put_process(perf, &place, &process, opcode)
			       : 0;
	perf->storage.size = 0;
	if (ptl_thread_decode(event, &perf->storage, &thread) == 0)
		return !kernel_of(perf, thread.process_id) && wants(perf, thread.process_id)
			       ? put_thread(perf, &place, &thread, opcode)
			       : 0;
	if (ptl_switch_decode(event, &change) == 0) {
		if (opcode == PTL_OPCODE_CONTEXT_SWITCH && event->cpu != PTL_NO_CPU)
			put_switch(perf, event, &change);
		return 0;
	}
	if (ptl_image_decode(event, &perf->storage, &image) == 0 || !selects(perf, event))
		return 0;
	if (dump_perf_kernel_put(&perf->kernel, &perf->file, event))
		return 0;
	return dump_perf_events_put(&perf->events, &perf->file, trace, event);
}

/* ---- packets ------------------------------------------------------------------------------------- */

static bool wants_stream(const struct perf *perf, const struct ptl_stream *stream)
{
	const struct analysis_filter *filter = &perf->run->options->filter;

	return stream->kind == PTL_KIND_PT && !is_guest_stream(perf, stream) &&
	       (stream->pid == PTL_NO_ID || analysis_filter_wants_thread(filter, stream->pid, stream->tid)) &&
	       (stream->cpu == PTL_NO_CPU || common_id_set_has(&filter->cpus, stream->cpu));
}

/*
 * Writes a record of up to CHUNK bytes without a hole. *at: offset in the stream, moves past the bytes. Sets *more to
 * false at the end of the stream.
 */
static int put_chunk(struct perf *perf, const struct ptl_stream *stream, uint32_t number, uint8_t *data, uint64_t *at,
		     bool *more)
{
	static const uint8_t padding[8];
	const uint64_t end = format_trace_end(perf->run->trace);
	size_t size = 0, got = 1;
	uint64_t hole = 0, tsc;
	const struct ptl_machine *machine = ptl_trace_machine(perf->run->trace);
	int status = 0;

	while (!status && size < CHUNK && got) {
		status = ptl_stream_read(perf->run->trace, stream->id, *at + size, data + size, CHUNK - size, &got,
					 &hole);
		size += status ? 0 : got;
	}
	*more = size || hole;
	perf->holes += hole > 0 && !size;
	tsc = end;
	if (machine->tsc_multiplier)
		tsc = (uint64_t)(((unsigned __int128)(end - machine->tsc_zero) << machine->tsc_shift) /
				 machine->tsc_multiplier);
	if (!status && size) {
		dump_perf_packets(&perf->file, (size + 7) / 8 * 8, *at, tsc ? tsc : 1, number,
				  stream->tid == PTL_NO_ID ? UINT32_MAX : stream->tid,
				  stream->cpu == PTL_NO_CPU ? UINT32_MAX : stream->cpu);
		dump_perf_raw(&perf->file, data, size);
		dump_perf_raw(&perf->file, padding, (8 - size % 8) % 8);
	}
	*at += size ? size : hole;
	return status;
}

/*
 * Sets *guest if the first PSB of a stream shows that its code ran in a virtual machine: perf skips such code without
 * --guest-code.
 */
static int find_guest(struct ptl_trace *trace, uint32_t stream, bool *guest)
{
	struct flow_packet_walk walk;
	struct flow_packet_item item;
	int status = flow_packet_walk_start(&walk, trace, stream, 0, UINT64_MAX,
					    flow_errata_of(ptl_trace_machine(trace)));

	if (status)
		return status;
	while ((status = flow_packet_walk_next(&walk, &item)) > 0) {
		if (item.type != FLOW_PACKET_ITEM_PACKET)
			continue;
		*guest |= item.packet.kind == PTL_PT_PIP && item.packet.pip.non_root;
		if (item.packet.kind == PTL_PT_PSBEND)
			break;
	}
	flow_packet_walk_free(&walk);
	return status < 0 ? status : 0;
}

static int put_streams(struct perf *perf)
{
	const struct ptl_trace *trace = perf->run->trace;
	uint8_t *data = malloc(CHUNK);
	uint32_t number = 0;
	int status = data ? 0 : common_fail_memory("packets", CHUNK);

	for (size_t i = 0; !status && i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);
		bool more = wants_stream(perf, stream);
		uint64_t at = 0;

		if (more && !perf->guest)
			status = find_guest(perf->run->trace, stream->id, &perf->guest);
		for (; !status && more; number += !more)
			status = put_chunk(perf, stream, number, data, &at, &more);
	}
	free(data);
	return status;
}

/* ---- address filters ------------------------------------------------------------------------------ */

/* Returns how much perf's copy of a file shifts file offsets. */
static uint64_t shift_of(const struct perf *perf, const struct flow_timeline *timeline, const char *path)
{
	const size_t count = flow_timeline_image_count(timeline);

	for (size_t i = 0; i < count; i++) {
		const struct ptl_image_event *image = &flow_timeline_image(timeline, i)->data;
		const struct dump_perf_object *object;
		uint8_t build_id[DUMP_PERF_BUILD_ID];

		if (strcmp(image->file_name, path) != 0)
			continue;
		dump_perf_build_id(image, build_id);
		object = dump_perf_cache_find(&perf->cache, build_id);
		if (object)
			return object->shift;
	}
	return 0;
}

/* Appends the address filters in the syntax of perf. */
static void add_filters(struct perf *perf, const struct flow_timeline *timeline, struct ptl_bytes *text)
{
	const struct ptl_trace *trace = perf->run->trace;

	for (size_t i = 0; i < ptl_attachment_count(trace); i++) {
		const struct ptl_attachment *attachment = ptl_attachment_at(trace, i);
		struct format_pt_filter filter;

		if (attachment->pid || !format_pt_filter_of(attachment, &filter))
			continue;
		common_text_format(text, "%s%s 0x%" PRIx64 "/0x%" PRIx64, text->size ? "," : "",
				   filter.action == FORMAT_PT_FILTER_STOP ? "stop" : "filter",
				   filter.first + shift_of(perf, timeline, filter.path), filter.size);
		if (filter.path_size)
			common_text_format(text, "@%s", name_for_perf(perf, filter.path));
	}
}

/* ---- the whole file ------------------------------------------------------------------------------ */

static int put_all(struct perf *perf, const struct flow_timeline *timeline)
{
	struct ptl_bytes filters = {0};
	struct ptl_trace *trace = perf->run->trace;
	const struct ptl_callbacks putting = {.size = sizeof(putting), .event = put_event};
	int status;

	for (size_t i = 0; i < ptl_stream_count(trace); i++) {
		const struct ptl_stream *stream = ptl_stream_at(trace, i);

		if (is_guest_stream(perf, stream))
			continue;
		perf->file.has_packets |= stream->kind == PTL_KIND_PT;
		perf->file.per_cpu |= stream->kind == PTL_KIND_PT && stream->cpu != PTL_NO_CPU;
	}
	perf->file.switches &= perf->file.per_cpu;
	add_filters(perf, timeline, &filters);
	dump_perf_begin(&perf->file, ptl_trace_machine(trace), filters.size ? common_text_string(&filters) : "");
	common_bytes_free(&filters);
	dump_perf_kernel_map(&perf->kernel, &perf->file);
	for (uint32_t i = 1; i <= perf->guests.machines; i++)
		dump_perf_kernel_map(&perf->guest_kernels[i], &perf->file);
	status = ptl_process(trace, NULL, &putting, perf);
	if (!status)
		status = dump_perf_events_finish(&perf->events, &perf->file);
	dump_perf_index(&perf->file);
	dump_perf_events_lose(&perf->events, &perf->file, trace, &perf->lost);
	if (!status)
		status = put_streams(perf);
	return status ? status : dump_perf_end(&perf->file, ptl_trace_machine(trace));
}

static void free_perf(struct perf *perf)
{
	dump_perf_cache_free(&perf->cache);
	dump_perf_kernel_free(&perf->kernel);
	for (uint32_t i = 1; perf->guest_kernels && i <= perf->guests.machines; i++)
		dump_perf_kernel_free(&perf->guest_kernels[i]);
	free(perf->guest_kernels);
	dump_perf_guests_free(&perf->guests);
	dump_perf_events_free(&perf->events);
	flow_symbols_close(perf->symbols);
	common_hash_map_free(&perf->threads);
	common_bytes_free(&perf->storage);
	common_bytes_free(&perf->name);
	common_bytes_free(&perf->file.body);
	common_bytes_free(&perf->file.tracing);
	common_bytes_free(&perf->file.programs);
	free(perf->file.attrs);
}

static void report(struct perf *perf, struct dump_perf_result *result)
{
	struct dump_left_out *left_out = &result->left_out;

	dump_left_out_add(left_out, perf->holes, "hole in the packets, where bytes are lost",
			  "holes in the packets, where bytes are lost");
	dump_left_out_add(left_out, perf->missing, "piece of code that neither the trace nor this machine has",
			  "pieces of code that neither the trace nor this machine has");
	dump_left_out_add(left_out, perf->lost, "loss that perf has no record for (ptl-dump info)",
			  "losses that perf has no record for (ptl-dump info)");
	dump_perf_events_report(&perf->events, left_out);
	result->kernel = dump_perf_kernel_has_code(&perf->kernel);
	for (uint32_t i = 1; i <= perf->guests.machines; i++)
		result->kernel |= dump_perf_kernel_has_code(&perf->guest_kernels[i]);
	result->guest = perf->guest;
	result->packets = perf->file.has_packets;
}

/* Reads all events once, to learn what the file has to describe. */
static int gather(struct perf *perf)
{
	const struct ptl_callbacks guests = {.size = sizeof(guests), .event = gather_guests};
	const struct ptl_callbacks gathering = {.size = sizeof(gathering), .event = gather_event};
	int status = ptl_machine_count(perf->run->trace) > 1 ? ptl_process(perf->run->trace, NULL, &guests, perf) : 0;

	if (!status) {
		perf->guest_kernels = calloc(perf->guests.machines + 1, sizeof(*perf->guest_kernels));
		status = perf->guest_kernels ? 0 : common_fail_memory("kernels", sizeof(*perf->guest_kernels));
	}
	for (uint32_t i = 1; !status && i <= perf->guests.machines; i++)
		perf->guest_kernels[i].machine = i;
	perf->file.guests = &perf->guests;
	if (!status)
		status = ptl_process(perf->run->trace, NULL, &gathering, perf);
	if (!status)
		status = dump_perf_events_gathered(&perf->events, &perf->file);
	if (status)
		return status;
	status = dump_perf_kernel_pair(&perf->kernel);
	for (uint32_t i = 1; !status && i <= perf->guests.machines; i++)
		status = dump_perf_kernel_pair(&perf->guest_kernels[i]);
	dump_perf_events_describe(&perf->events, &perf->file);
	dump_perf_kernel_programs(&perf->kernel, &perf->code, &perf->file.programs);
	return perf->file.tracing.failed || perf->file.programs.failed
		       ? common_fail_memory("descriptions", perf->file.tracing.size + perf->file.programs.size)
		       : status;
}

/* Writes the folders of the kernels. */
static int write_kernels(struct perf *perf, const char *core)
{
	int status = 0;

	if (dump_perf_kernel_has_code(&perf->kernel))
		status = dump_perf_kernel_write(&perf->kernel, &perf->code, core, "/kcore_dir", &perf->missing);
	for (uint32_t i = 1; !status && i <= perf->guests.machines; i++) {
		char part[40];

		snprintf(part, sizeof(part), "/kcore_dir__%u", dump_perf_guests_pid(&perf->guests, i));
		if (dump_perf_kernel_has_code(&perf->guest_kernels[i]))
			status = dump_perf_kernel_write(&perf->guest_kernels[i], &perf->code, core, part,
							&perf->missing);
	}
	return status;
}

int dump_perf_write(struct dump_run *run, const struct flow_timeline *timeline, const char *path, const char *folder,
		    const char *core, struct dump_perf_result *result)
{
	struct perf perf = {.run = run,
			    .file = {.file = fopen(path, "r+e"), .start = ptl_trace_machine(run->trace)->start_time},
			    .code = {.trace = run->trace}};
	int status = perf.file.file ? 0 : common_fail_errno("cannot write %s", path);

	perf.code.outside_count = flow_timeline_outside(timeline, &perf.code.outside);
	if (!status)
		status = flow_symbols_open(run->trace, timeline, false, &perf.symbols);
	if (!status)
		status = gather(&perf);
	if (!status)
		status = dump_perf_cache_write(&perf.cache, &perf.code, folder, &perf.missing);
	if (!status)
		status = dump_perf_kernel_cache(&perf.kernel, folder);
	if (!status && core)
		status = write_kernels(&perf, core);
	if (!status)
		status = put_all(&perf, timeline);
	if (perf.file.file && fclose(perf.file.file) != 0 && !status)
		status = common_fail_errno("cannot write %s", path);
	if (!status)
		report(&perf, result);
	free_perf(&perf);
	return status;
}
