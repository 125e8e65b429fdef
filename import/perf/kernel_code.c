/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts KSYMBOL and TEXT_POKE records to images and versions of the kernel's code. */
#include <ptl/kernel.h>
#include <stdio.h>

#include "common/error.h"
#include "import/perf/import.h"
#include "perf/fields.h"

#define UNREGISTER 1u /* flags of KSYMBOL: the code is gone */
#define KIND_BPF 1u   /* kind of KSYMBOL; other kinds get their bytes by TEXT_POKE */

static struct ptl_event moment(const struct perf_import *import, const struct perf_sample *sample)
{
	const uint32_t pid = perf_guests_id(sample->machine, 0);

	return (struct ptl_event){.time = perf_time(import, sample), .cpu = sample->cpu, .pid = pid, .tid = pid};
}

static bool is_range(uint64_t base, uint64_t size)
{
	return size && base + (size - 1) >= base;
}

static int write_unload(struct perf_import *import, const struct ptl_image_event *image, const struct ptl_event *at)
{
	struct ptl_event event = {0};
	int status;

	import->storage.size = 0;
	status = ptl_image_encode(image, PTL_OPCODE_UNLOAD, &import->storage, &event);
	if (status)
		return status;
	event.time = at->time;
	event.cpu = at->cpu;
	event.pid = at->pid;
	event.tid = at->tid;
	return perf_event_write(import, &event);
}

/*
 * Writes code that a kernel has made. The bytes of a BPF program are a feature of the file. Code from before the
 * recording may be in kcore; kcore was copied too early for later code.
 */
static int add_made(struct perf_import *import, const struct perf_sample *sample, const struct perf_fields *fields,
		    struct ptl_image_event *image)
{
	const struct perf_bpf_function *function;
	const struct ptl_event at = moment(import, sample);
	struct perf_kernel *kernel;
	int status = perf_kernel_of(import, sample->machine, &kernel);

	if (status)
		return status;
	function = perf_bpf_find(&kernel->bpf, image->base, image->file_name);
	if (import->embed == ELF_EMBED_NONE)
		function = NULL;
	if (perf_is_rundown(import, sample) && elf_kernel_images_made(&kernel->images, image->base))
		return 0; /* written by perf_kernel_begin */
	if (function && function->size < image->size)
		image->size = function->size;
	status = perf_kernel_made(import, kernel, image, function ? function->code : NULL, &at);
	if (!image->has_code && fields->kind == KIND_BPF && import->embed != ELF_EMBED_NONE)
		perf_kernel_unread(kernel, image->file_name);
	return status;
}

int perf_ksymbol(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		 size_t body)
{
	const struct ptl_event at = moment(import, sample);
	struct ptl_image_event image = {0};
	struct perf_fields fields;
	char name[512];
	int status = 0;

	if (!perf_fields_read(record->type, record->misc, record->body, body, &fields))
		return common_fail(PTL_CORRUPT, "offset %llu: code of the kernel without an address",
				   (unsigned long long)record->offset);
	snprintf(name, sizeof(name), "%.*s", (int)fields.name_size, fields.name);
	image.process_id = at.pid;
	image.base = fields.base;
	image.size = fields.size;
	image.file_name = name;
	if (is_range(image.base, image.size))
		status = fields.flags & UNREGISTER ? write_unload(import, &image, &at)
						   : add_made(import, sample, &fields, &image);
	return status ? status : perf_event_keep(import, record, sample, body);
}

int perf_text_poke(struct perf_import *import, const struct perf_record *record, const struct perf_sample *sample,
		   size_t body)
{
	const struct elf_image_sink sink = perf_image_sink(import);
	const struct ptl_event at = moment(import, sample);
	struct ptl_event event = {0};
	struct ptl_code_event code = {.process_id = at.pid};
	struct perf_fields fields;
	int status;

	if (!perf_fields_read(record->type, record->misc, record->body, body, &fields))
		return common_fail(PTL_CORRUPT, "offset %llu: a change of code without its bytes",
				   (unsigned long long)record->offset);
	code.base = fields.base;
	code.size = fields.new_size;
	if (!is_range(code.base, code.size) || import->embed == ELF_EMBED_NONE)
		return perf_event_keep(import, record, sample, body);
	status = perf_process_need(import, at.pid, at.time);
	if (!status)
		status = sink.blob(sink.context, PTL_BLOB_CODE, fields.code, fields.new_size, code.code);
	import->storage.size = 0;
	if (!status)
		status = ptl_code_encode(&code, &import->storage, &event);
	event.time = at.time;
	event.cpu = at.cpu;
	event.pid = at.pid;
	event.tid = at.tid;
	if (!status)
		status = perf_event_write(import, &event);
	return status ? status : perf_event_keep(import, record, sample, body);
}
