/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rundown at the end of a session names methods that were compiled at any time, also before the session. A method
 * that shares no address with another method is therefore reported from the start of its process.
 */
#include "import/etl/method.h"

#include <stdlib.h>

#include <ptl/kernel.h>
#include <ptl/symbols.h>

#include "common/error.h"
#include "common/text/guid.h"
#include "common/text/utf16.h"
#include "common/vector.h"
#include "import/etl/import.h"

#define COUNT_MAX 300000u
#define NAMES_MAX (32u << 20)
#define NAME_MAX_BYTES 1024u
#define GAP_MAX 4096u /* maximum bytes between two methods in an image */
#define SIZE_MAX_BYTES (16u << 20)
#define READ_EXECUTE 5u
#define IMAGE_NAME "[.NET code]"

static const struct ptl_guid runtime = PTL_GUID(0xe13c0d23, 0xccbc, 0x4e12, 0x931b, 0xd9cc2eee27e4);
static const struct ptl_guid rundown = PTL_GUID(0xa669021c, 0xc450, 0x4609, 0xa035, 0x5af59af4df18);

/* Event ids. The rundown provider uses the same ids for methods that exist when the rundown begins or ends. */
#define LOAD_VERBOSE 143u
#define UNLOAD_VERBOSE 144u
#define START_VERBOSE_V2 139u
#define STOP_VERBOSE_V2 140u

/* MethodFlags. Methods without these flags were compiled ahead of time, and lie in images. */
#define DYNAMIC 0x1u
#define JITTED 0x8u

struct etl_method {
	uint32_t pid, size;
	uint64_t address;
	uint64_t process;  /* start of the process in ticks; 0: before the trace */
	uint64_t loaded;   /* load time in ticks; 0: before the trace, or unknown */
	uint64_t unloaded; /* unload time in ticks; UINT64_MAX: not unloaded in the trace */
	uint64_t seen;     /* time in ticks of the event that reported the method */
	uint32_t name;     /* position in names */
	bool is_alone;     /* the method shares no address with another method */
};

struct etl_process_start {
	uint32_t pid;
	uint64_t time;
};

void etl_methods_free(struct etl_methods *methods)
{
	free(methods->list);
	free(methods->starts);
	common_bytes_free(&methods->names);
	*methods = (struct etl_methods){0};
}

bool etl_is_method(uint16_t id)
{
	return id == LOAD_VERBOSE || id == UNLOAD_VERBOSE || id == START_VERBOSE_V2 || id == STOP_VERBOSE_V2;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

int etl_methods_process(struct etl_methods *methods, const struct etl_record *record)
{
	struct common_cursor cursor = common_cursor(record->payload, record->payload_size);
	struct etl_process_start start = {.time = record->time};

	/* Key of the process, or base of its page directory. */
	if (record->descriptor.version)
		common_read_le(&cursor, record->pointer_size);
	start.pid = common_read32(&cursor);
	if (cursor.failed || !record->has_time || methods->start_count == COUNT_MAX)
		return 0;
	if (COMMON_VECTOR_RESERVE(methods->starts, methods->start_capacity, methods->start_count + 1, "processes"))
		return PTL_NO_MEMORY;
	methods->starts[methods->start_count++] = start;
	return 0;
}

/* Adds "Namespace.Type.Method(arguments)", truncated to NAME_MAX_BYTES. */
static int add_method_name(struct etl_methods *methods, struct common_cursor *cursor)
{
	struct ptl_bytes space = {0}, name = {0}, signature = {0};
	const char *arguments = NULL;
	const size_t start = methods->names.size;

	common_read_utf16(cursor, &space);
	common_read_utf16(cursor, &name);
	common_read_utf16(cursor, &signature);
	if (!cursor->failed && !space.failed && !name.failed && !signature.failed) {
		arguments = strchr((const char *)signature.data, '(');
		common_write_bytes(&methods->names, space.data, space.size - 1);
		if (space.size > 1)
			common_write_bytes(&methods->names, ".", 1);
		common_write_bytes(&methods->names, name.data, name.size - 1);
		if (arguments)
			common_write_bytes(&methods->names, arguments, strlen(arguments));
	}
	common_bytes_free(&space);
	common_bytes_free(&name);
	common_bytes_free(&signature);
	if (!methods->names.failed && methods->names.size > start + NAME_MAX_BYTES)
		methods->names.size = start + NAME_MAX_BYTES;
	common_write_le(&methods->names, 0, 1);
	return methods->names.failed ? common_fail_memory("names of methods", methods->names.size) : 0;
}

static int add_method(struct etl_methods *methods, const struct etl_method *method)
{
	if (COMMON_VECTOR_RESERVE(methods->list, methods->capacity, methods->count + 1, "methods"))
		return PTL_NO_MEMORY;
	methods->list[methods->count++] = *method;
	return 0;
}

int etl_methods_add(struct etl_methods *methods, const struct etl_record *record)
{
	const bool is_runtime = common_guid_equal(&record->descriptor.provider, &runtime);
	const uint16_t id = record->descriptor.id;
	struct common_cursor cursor = common_cursor(record->payload, record->payload_size);
	struct etl_method method = {.pid = record->pid, .unloaded = UINT64_MAX, .seen = record->time};
	uint32_t flags;
	int status;

	if ((!is_runtime && !common_guid_equal(&record->descriptor.provider, &rundown)) || !etl_is_method(id) ||
	    !record->has_time)
		return 0;
	common_read_bytes(&cursor, 16); /* MethodID, ModuleID */
	method.address = common_read64(&cursor);
	method.size = common_read32(&cursor);
	common_read32(&cursor); /* MethodToken */
	flags = common_read32(&cursor);
	if (cursor.failed || !(flags & (JITTED | DYNAMIC)) || !method.size || method.size > SIZE_MAX_BYTES ||
	    method.address > UINT64_MAX - method.size || methods->count == COUNT_MAX || methods->names.size > NAMES_MAX)
		return 0;
	if (is_runtime && id == LOAD_VERBOSE)
		method.loaded = record->time;
	if (is_runtime && id == UNLOAD_VERBOSE)
		method.unloaded = record->time;
	method.name = (uint32_t)methods->names.size;
	status = add_method_name(methods, &cursor);
	if (status || cursor.failed)
		return status;
	return add_method(methods, &method);
}

/* ---- addresses and times of methods -------------------------------------------------------------------------- */

static int compare_starts(const void *left, const void *right)
{
	const struct etl_process_start *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

/* Returns the start in ticks of the process that had the pid at that time; 0: before the trace. */
static uint64_t find_start(const struct etl_methods *methods, uint32_t pid, uint64_t time)
{
	size_t low = 0, high = methods->start_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		const struct etl_process_start *start = &methods->starts[middle];

		if (start->pid < pid || (start->pid == pid && start->time <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low && methods->starts[low - 1].pid == pid ? methods->starts[low - 1].time : 0;
}

/* Sorts methods by process, then address, then time. */
static int compare_methods(const void *left, const void *right)
{
	const struct etl_method *a = left, *b = right;

	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->seen < b->seen ? -1 : a->seen > b->seen;
}

static bool is_same_code(const struct etl_methods *methods, const struct etl_method *a, const struct etl_method *b)
{
	const char *names = (const char *)methods->names.data;

	return a->pid == b->pid && a->process == b->process && a->address == b->address && a->size == b->size &&
	       strcmp(names + a->name, names + b->name) == 0;
}

/* Merges the events of each method: load, unload and rundown. */
static void join_methods(struct etl_methods *methods)
{
	size_t kept = 0;

	for (size_t i = 0; i < methods->count; i++) {
		struct etl_method *method = &methods->list[i], *last = kept ? &methods->list[kept - 1] : NULL;

		/* A load after an unload begins another method. */
		if (!last || !is_same_code(methods, last, method) || (last->unloaded != UINT64_MAX && method->loaded)) {
			methods->list[kept++] = *method;
			continue;
		}
		if (method->unloaded < last->unloaded)
			last->unloaded = method->unloaded;
		last->seen = method->seen;
	}
	methods->count = kept;
}

static uint64_t end_of(const struct etl_method *method)
{
	return method->address + method->size;
}

static bool is_same_method(const struct etl_method *method, const struct etl_method *other)
{
	return method->pid == other->pid && method->process == other->process;
}

/* Marks methods that share no address. Two loads of one method at the same address count as two methods. */
static void mark(struct etl_methods *methods)
{
	uint64_t end = 0;

	for (size_t i = 0; i < methods->count; i++) {
		struct etl_method *method = &methods->list[i];
		const struct etl_method *next = i + 1 < methods->count ? &methods->list[i + 1] : NULL;

		if (!i || !is_same_method(method, &methods->list[i - 1]))
			end = 0;
		method->is_alone = method->address >= end &&
				   !(next && is_same_method(method, next) && next->address < end_of(method));
		if (end_of(method) > end)
			end = end_of(method);
	}
}

/* ---- writing --------------------------------------------------------------------------------------------- */

/* An image to write: consecutive unshared methods from `first` on, or a single method that shares addresses. */
struct code_image {
	size_t first, count;
	uint64_t base, size;
	uint64_t time; /* time of the trace */
	uint32_t pid;
	uint8_t opcode;
};

struct code_images {
	struct code_image *list;
	size_t count, capacity;
};

static uint64_t process_time(const struct etl_import *import, const struct etl_method *method)
{
	return method->process ? etl_clock_time(import, method->process) + 1 : import->machine.start_time;
}

static struct code_image image_of(const struct etl_import *import, const struct etl_method *method, size_t first)
{
	return (struct code_image){
		.first = first,
		.count = 1,
		.base = method->address,
		.size = method->size,
		.time = process_time(import, method),
		.pid = method->pid,
		/* A start rundown would mean that the process had no other images at that time. */
		.opcode = PTL_OPCODE_LOAD,
	};
}

static int add_image(struct code_images *images, const struct code_image *image)
{
	if (COMMON_VECTOR_RESERVE(images->list, images->capacity, images->count + 1, "images"))
		return PTL_NO_MEMORY;
	images->list[images->count++] = *image;
	return 0;
}

/* Makes images of neighbouring unshared methods. */
static int add_stretches(struct etl_import *import, struct code_images *images)
{
	const struct etl_methods *methods = &import->methods;
	const struct etl_method *last = NULL;
	int status = 0;

	for (size_t i = 0; i < methods->count && !status; i++) {
		const struct etl_method *method = &methods->list[i];
		struct code_image *image = images->count ? &images->list[images->count - 1] : NULL;

		if (!method->is_alone)
			continue;
		if (last && is_same_method(last, method) && method->address - end_of(last) <= GAP_MAX) {
			image->size = end_of(method) - image->base;
			image->count = i + 1 - image->first;
		} else {
			const struct code_image another = image_of(import, method, i);

			status = add_image(images, &another);
		}
		last = method;
	}
	return status;
}

/* Makes an image for each method that shares addresses: from the load, or the first event, to the unload. */
static int add_shared(struct etl_import *import, struct code_images *images)
{
	const struct etl_methods *methods = &import->methods;
	int status = 0;

	for (size_t i = 0; i < methods->count && !status; i++) {
		const struct etl_method *method = &methods->list[i];
		struct code_image image = image_of(import, method, i);

		if (method->is_alone)
			continue;
		/*
		 * If the unload is the first event of a method, the load time is unknown: keep the start of the
		 * process.
		 */
		if (method->loaded || method->unloaded == UINT64_MAX)
			image.time = etl_clock_time(import, method->loaded ? method->loaded : method->seen);
		status = add_image(images, &image);
		if (status || method->unloaded == UINT64_MAX)
			continue;
		image.time = etl_clock_time(import, method->unloaded);
		image.opcode = PTL_OPCODE_UNLOAD;
		status = add_image(images, &image);
	}
	return status;
}

/* Sorts images by time; unloads before loads, large images before small ones. */
static int compare_images(const void *left, const void *right)
{
	const struct code_image *a = left, *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if ((a->opcode == PTL_OPCODE_UNLOAD) != (b->opcode == PTL_OPCODE_UNLOAD))
		return a->opcode == PTL_OPCODE_UNLOAD ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static int write_symbols(struct etl_import *import, const struct code_image *image, struct ptl_image_event *data)
{
	const struct etl_methods *methods = &import->methods;
	struct ptl_symbol *symbols = calloc(image->count, sizeof(*symbols));
	struct ptl_bytes encoded = {0};
	size_t count = 0;
	int status = symbols ? 0 : common_fail_memory("symbols", image->count * sizeof(*symbols));

	for (size_t i = 0; i < image->count && !status; i++) {
		const struct etl_method *method = &methods->list[image->first + i];

		if (image->count == 1 || method->is_alone)
			symbols[count++] = (struct ptl_symbol){.address = method->address,
							       .size = method->size,
							       .name = (const char *)methods->names.data + method->name,
							       .type = 't'};
	}
	if (!status)
		status = ptl_symbols_encode(symbols, count, &encoded);
	if (!status)
		status = ptl_writer_blob(import->writer, PTL_BLOB_SYMBOLS, encoded.data, encoded.size, data->symbols);
	data->has_symbols = true;
	free(symbols);
	common_bytes_free(&encoded);
	return status;
}

static int write_image(struct etl_import *import, const struct code_image *image)
{
	struct ptl_image_event data = {
		.base = image->base,
		.size = image->size,
		.process_id = image->pid,
		.default_base = image->base,
		.file_name = IMAGE_NAME,
		.protection = READ_EXECUTE,
	};
	struct ptl_bytes storage = {0};
	struct ptl_event event = {0};
	int status = image->opcode == PTL_OPCODE_UNLOAD ? 0 : write_symbols(import, image, &data);

	if (!status)
		status = ptl_image_encode(&data, image->opcode, &storage, &event);
	event.time = image->time;
	event.cpu = PTL_NO_CPU;
	event.pid = image->pid;
	event.tid = PTL_NO_ID;
	if (!status)
		status = etl_event_write(import, &event);
	common_bytes_free(&storage);
	return status;
}

static int write_schemas(struct etl_import *import)
{
	size_t count;
	const struct ptl_schema *const *schemas = ptl_kernel_schemas(&count);
	int status = 0;

	for (size_t i = 0; i < count && !status; i++)
		if (common_guid_equal(&schemas[i]->provider, &PTL_PROVIDER_IMAGE))
			status = ptl_writer_schema(import->writer, schemas[i]);
	return status;
}

int etl_methods_write(struct etl_import *import)
{
	struct etl_methods *methods = &import->methods;
	struct code_images images = {0};
	int status;

	if (!methods->count)
		return 0;
	if (methods->start_count)
		qsort(methods->starts, methods->start_count, sizeof(*methods->starts), compare_starts);
	for (size_t i = 0; i < methods->count; i++)
		methods->list[i].process = find_start(methods, methods->list[i].pid, methods->list[i].seen);
	qsort(methods->list, methods->count, sizeof(*methods->list), compare_methods);
	join_methods(methods);
	mark(methods);
	status = write_schemas(import);
	if (!status)
		status = add_stretches(import, &images);
	if (!status)
		status = add_shared(import, &images);
	if (!status)
		qsort(images.list, images.count, sizeof(*images.list), compare_images);
	for (size_t i = 0; i < images.count && !status; i++)
		status = write_image(import, &images.list[i]);
	free(images.list);
	return status;
}
