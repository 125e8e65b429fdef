/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Describes code of the kernel to perf. Code from before the recording is in kcore, an ELF core file. Later code becomes
 * an out-of-line copy (KSYMBOL) that is filled by TEXT_POKE records. BPF programs of a perf recording keep their records,
 * and their code is a feature of the file.
 */
#include "dump/export/perf/perf_kernel.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/partition.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "perf/fields.h"
#include "perf/layout.h"
#include "perf/schemas.h"

#define PAGE 4096u
#define SEGMENTS_MAX 4096u
#define POKE_MAX 32768u /* bytes of a TEXT_POKE record; a record's size has 16 bits */
#define OUT_OF_LINE 2u  /* kind of a KSYMBOL record */
#define KIND_BPF 1u
#define UNREGISTER 1u
#define BPF_LOAD 1u
#define OWN_NAME "[kernel.kallsyms]"
#define TAG_SIZE 8u
#define BPF_NAME "bpf_prog_" /* followed by the tag in hexadecimal digits */
#define NONE SIZE_MAX
#define INFO_SIZE 192u /* bytes of struct bpf_prog_info */

struct dump_perf_kernel_image {
	uint64_t time, base, size, bias;
	bool old;         /* in memory since before the recording */
	char *name;       /* owned; with brackets */
	const char *mark; /* name of the symbol at the beginning; NULL: the image is a module, or made code */
	uint8_t build_id[DUMP_PERF_BUILD_ID];
	bool has_build_id, has_code;
	uint8_t code[PTL_HASH_SIZE];
	const struct ptl_symbol_table *symbols; /* NULL: none */
};

/* A BPF program, or a function of a program, by its KSYMBOL record. */
struct dump_perf_bpf_program {
	uint64_t time, address;
	uint32_t cpu;
	uint8_t *record; /* owned */
	size_t size;
	uint32_t id;  /* 0: no load is known */
	bool written; /* the KSYMBOL record is in the file */
	size_t next;  /* the next program with the same tag; NONE */
};

/* A BPF_EVENT record of a load. */
struct dump_perf_bpf_load {
	uint64_t time;
	uint32_t id;
	uint8_t tag[TAG_SIZE];
	size_t program; /* NONE: no program has the tag */
};

struct place {
	uint8_t key[16];
};

static struct place place_of(uint64_t time, uint64_t address)
{
	struct place place;

	common_store64(place.key, time);
	common_store64(place.key + 8, address);
	return place;
}

/* ---- images -------------------------------------------------------------------------------------- */

/* Returns the name of the symbol at the beginning of the kernel's own image; NULL: the image is another. */
static const char *mark_of(const char *name)
{
	if (!strcmp(name, "[kernel]"))
		return "_stext";
	if (strncmp(name, OWN_NAME, sizeof(OWN_NAME) - 1) != 0)
		return NULL;
	return name[sizeof(OWN_NAME) - 1] ? name + sizeof(OWN_NAME) - 1 : "_stext";
}

int dump_perf_kernel_add(struct dump_perf_kernel *kernel, const struct ptl_event *event,
			 const struct ptl_image_event *image, const struct ptl_symbol_table *symbols, bool old)
{
	const struct place place = place_of(event->time, image->base);
	struct dump_perf_kernel_image *added;

	if (common_byte_map_get(&kernel->by_place, place.key, sizeof(place.key)))
		return 0;
	if (!common_vector_room(&kernel->images, kernel->count, sizeof(*kernel->images)))
		return common_fail_memory("images", kernel->count * sizeof(*kernel->images));
	added = &kernel->images[kernel->count];
	*added = (struct dump_perf_kernel_image){.time = event->time,
						 .base = image->base,
						 .size = image->size,
						 .bias = image->base - image->default_base,
						 .old = old,
						 .name = strdup(image->file_name),
						 .has_build_id = image->build_id_size != 0,
						 .has_code = image->has_code,
						 .symbols = symbols};
	if (!added->name)
		return common_fail_memory("a name", strlen(image->file_name));
	added->mark = mark_of(added->name);
	dump_perf_build_id(image, added->build_id);
	memcpy(added->code, image->code, PTL_HASH_SIZE);
	return common_byte_map_put(&kernel->by_place, place.key, sizeof(place.key), kernel->count++);
}

void dump_perf_kernel_fill(struct dump_perf_kernel *kernel, const struct ptl_image_event *code)
{
	for (size_t i = kernel->count; i > 0; i--) {
		struct dump_perf_kernel_image *image = &kernel->images[i - 1];

		if (image->base != code->base)
			continue;
		if (!image->has_code)
			memcpy(image->code, code->code, PTL_HASH_SIZE);
		image->has_code = true;
		return;
	}
}

static bool has_record(const struct dump_perf_kernel *kernel, uint64_t time, uint64_t address)
{
	const struct place place = place_of(time, address);

	return common_byte_map_get(&kernel->records, place.key, sizeof(place.key)) != NULL;
}

/* Whether the image belongs to kcore: old, and without a record of perf. */
static bool in_core(const struct dump_perf_kernel *kernel, const struct dump_perf_kernel_image *image)
{
	return image->old && !has_record(kernel, image->time, image->base);
}

void dump_perf_kernel_free(struct dump_perf_kernel *kernel)
{
	for (size_t i = 0; i < kernel->count; i++)
		free(kernel->images[i].name);
	for (size_t i = 0; i < kernel->program_count; i++)
		free(kernel->programs[i].record);
	free(kernel->images);
	free(kernel->programs);
	free(kernel->loads);
	common_byte_map_free(&kernel->by_place);
	common_byte_map_free(&kernel->records);
}

/* ---- records of perf ----------------------------------------------------------------------------- */

static int add_program(struct dump_perf_kernel *kernel, const struct ptl_event *event, uint64_t address)
{
	struct dump_perf_bpf_program *program;

	if (!common_vector_room(&kernel->programs, kernel->program_count, sizeof(*kernel->programs)))
		return common_fail_memory("BPF programs", kernel->program_count * sizeof(*kernel->programs));
	program = &kernel->programs[kernel->program_count];
	*program = (struct dump_perf_bpf_program){.time = event->time,
						  .address = address,
						  .cpu = event->cpu,
						  .record = malloc(event->payload_size + 1),
						  .size = event->payload_size,
						  .next = NONE};
	if (!program->record)
		return common_fail_memory("BPF programs", event->payload_size);
	memcpy(program->record, event->payload, event->payload_size);
	kernel->program_count++;
	return 0;
}

static int add_load(struct dump_perf_kernel *kernel, const struct ptl_event *event, const struct perf_fields *fields)
{
	struct dump_perf_bpf_load load = {.time = event->time, .id = (uint32_t)fields->id, .program = NONE};

	if (fields->kind != BPF_LOAD || !load.id || event->payload_size < TAG_SIZE)
		return 0;
	if (!common_vector_room(&kernel->loads, kernel->load_count, sizeof(load)))
		return common_fail_memory("BPF programs", kernel->load_count * sizeof(load));
	memcpy(load.tag, event->payload + event->payload_size - TAG_SIZE, TAG_SIZE);
	kernel->loads[kernel->load_count++] = load;
	return 0;
}

int dump_perf_kernel_note(struct dump_perf_kernel *kernel, const struct ptl_event *event)
{
	const uint32_t type = event->descriptor.id;
	struct perf_fields fields;
	struct place place;
	int status;

	if (memcmp(&event->descriptor.provider, &perf_provider, sizeof(perf_provider)) != 0 ||
	    (type != PERF_RECORD_KSYMBOL && type != PERF_RECORD_BPF_EVENT && type != PERF_RECORD_TEXT_POKE) ||
	    !perf_fields_read(type, 0, event->payload, event->payload_size, &fields))
		return 0;
	if (type == PERF_RECORD_BPF_EVENT)
		return add_load(kernel, event, &fields);
	place = place_of(event->time, fields.base);
	status = common_byte_map_put(&kernel->records, place.key, sizeof(place.key), 1);
	if (!status && type == PERF_RECORD_KSYMBOL && fields.kind == KIND_BPF && !(fields.flags & UNREGISTER))
		status = add_program(kernel, event, fields.base);
	return status;
}

/* Returns the tag in a program's name, TAG_SIZE * 2 digits; NULL: the name has no tag. */
static const char *tag_of(const struct dump_perf_bpf_program *program)
{
	const size_t prefix = sizeof(BPF_NAME) - 1;
	struct perf_fields fields;

	if (!perf_fields_read(PERF_RECORD_KSYMBOL, 0, program->record, program->size, &fields) ||
	    fields.name_size < prefix + TAG_SIZE * 2 || memcmp(fields.name, BPF_NAME, prefix) != 0)
		return NULL;
	return fields.name + prefix;
}

/* Pairs each load with the first program that has the tag and no load yet. */
int dump_perf_kernel_pair(struct dump_perf_kernel *kernel)
{
	struct common_byte_map firsts = {0}; /* tag: index of the first program without a load */
	int status = 0;

	for (size_t i = kernel->program_count; !status && i > 0; i--) {
		const char *tag = tag_of(&kernel->programs[i - 1]);
		const uint64_t *next = tag ? common_byte_map_get(&firsts, tag, TAG_SIZE * 2) : NULL;

		kernel->programs[i - 1].next = next ? *next : NONE;
		if (tag)
			status = common_byte_map_put(&firsts, tag, TAG_SIZE * 2, i - 1);
	}
	for (size_t i = 0; !status && i < kernel->load_count; i++) {
		struct ptl_bytes tag = {0};
		uint64_t *first;

		common_text_hex_bytes(&tag, kernel->loads[i].tag, TAG_SIZE);
		first = tag.failed ? NULL : common_byte_map_get(&firsts, tag.data, tag.size);
		common_bytes_free(&tag);
		if (!first || *first == NONE)
			continue;
		kernel->loads[i].program = *first;
		kernel->programs[*first].id = kernel->loads[i].id;
		*first = kernel->programs[*first].next;
	}
	common_byte_map_free(&firsts);
	return status;
}

static void put_program_symbol(struct dump_perf_file *file, struct dump_perf_bpf_program *program)
{
	const struct dump_perf_place place = {0, 0, program->cpu, dump_perf_time(file, program->time)};

	if (!program->written)
		dump_perf_record(file, &place, PERF_RECORD_KSYMBOL, 0, program->record, program->size);
	program->written = true;
}

/* Returns the load of a BPF_EVENT; NULL: unknown. */
static const struct dump_perf_bpf_load *find_load(const struct dump_perf_kernel *kernel, const struct ptl_event *event,
						  uint64_t id)
{
	for (size_t i = COMMON_PARTITION(kernel->load_count, k, kernel->loads[k].time < event->time);
	     i < kernel->load_count && kernel->loads[i].time == event->time; i++)
		if (kernel->loads[i].id == id)
			return &kernel->loads[i];
	return NULL;
}

bool dump_perf_kernel_put(struct dump_perf_kernel *kernel, struct dump_perf_file *file, const struct ptl_event *event)
{
	const struct dump_perf_bpf_load *load;
	struct perf_fields fields;
	size_t at = COMMON_PARTITION(kernel->program_count, i, kernel->programs[i].time < event->time);

	if (memcmp(&event->descriptor.provider, &perf_provider, sizeof(perf_provider)) != 0 ||
	    !perf_fields_read(event->descriptor.id, 0, event->payload, event->payload_size, &fields))
		return false;
	if (event->descriptor.id == PERF_RECORD_BPF_EVENT) {
		load = find_load(kernel, event, fields.id);
		if (load && load->program != NONE)
			put_program_symbol(file, &kernel->programs[load->program]);
		return false;
	}
	if (event->descriptor.id != PERF_RECORD_KSYMBOL || fields.kind != KIND_BPF || fields.flags & UNREGISTER)
		return false;
	for (; at < kernel->program_count && kernel->programs[at].time == event->time; at++)
		if (kernel->programs[at].address == fields.base)
			put_program_symbol(file, &kernel->programs[at]);
	return true;
}

void dump_perf_kernel_map(const struct dump_perf_kernel *kernel, struct dump_perf_file *file)
{
	for (size_t i = 0; i < kernel->count; i++) {
		const struct dump_perf_kernel_image *image = &kernel->images[i];
		char name[600];
		struct dump_perf_map map = {.base = image->base, .size = image->size, .name = name};

		if (!in_core(kernel, image))
			continue;
		snprintf(name, sizeof(name), "%s%s", image->mark ? OWN_NAME : image->name,
			 image->mark ? image->mark : "");
		map.offset = image->mark ? image->base : 0;
		map.has_build_id = image->has_build_id;
		memcpy(map.build_id, image->build_id, sizeof(map.build_id));
		dump_perf_kernel_mmap(file, &map, kernel->machine);
	}
}

/* Writes the bytes at an address as TEXT_POKE records. */
static void put_pokes(struct dump_perf_file *file, const struct dump_perf_place *place, uint64_t address,
		      const uint8_t *code, size_t size)
{
	struct ptl_bytes fields = {0};

	for (size_t at = 0; at < size; at += POKE_MAX) {
		const size_t part = size - at < POKE_MAX ? size - at : POKE_MAX;

		fields.size = 0;
		common_write_le(&fields, address + at, 8);
		common_write_le(&fields, 0, 2); /* bytes before the change */
		common_write_le(&fields, part, 2);
		common_write_bytes(&fields, code + at, part);
		dump_perf_record(file, place, PERF_RECORD_TEXT_POKE, 0, fields.data, fields.failed ? 0 : fields.size);
	}
	file->body.failed |= fields.failed;
	common_bytes_free(&fields);
}

/* Writes a KSYMBOL record with the name of an image, without brackets. */
static void put_symbol(struct dump_perf_file *file, const struct dump_perf_place *place,
		       const struct ptl_image_event *image)
{
	const char *name = image->file_name + (*image->file_name == '[');
	size_t size = strnlen(name, 500);
	struct ptl_bytes fields = {0};

	size -= size && *image->file_name == '[' && name[size - 1] == ']';
	common_write_le(&fields, image->base, 8);
	common_write_le(&fields, image->size, 4);
	common_write_le(&fields, OUT_OF_LINE, 2);
	common_write_le(&fields, 0, 2);
	common_write_bytes(&fields, name, size);
	common_write_le(&fields, 0, 1);
	dump_perf_record(file, place, PERF_RECORD_KSYMBOL, 0, fields.data, fields.failed ? 0 : fields.size);
	file->body.failed |= fields.failed;
	common_bytes_free(&fields);
}

void dump_perf_kernel_change(const struct dump_perf_kernel *kernel, struct dump_perf_file *file,
			     const struct dump_perf_code *source, const struct ptl_event *event,
			     const struct ptl_image_event *image, bool makes, uint64_t *missing)
{
	const uint32_t pid = kernel->machine * PTL_MACHINE_IDS;
	const struct dump_perf_place place = {pid, pid, event->cpu, event->time};
	const struct place key = place_of(event->time, image->base);
	const uint64_t *known = common_byte_map_get(&kernel->by_place, key.key, sizeof(key.key));
	uint8_t *code = NULL;
	size_t size = 0;

	if (has_record(kernel, event->time, image->base) || (makes && known && kernel->images[*known].old))
		return;
	if (makes)
		put_symbol(file, &place, image);
	if (!image->has_code || !dump_perf_code_read(source, image->code, &code, &size)) {
		++*missing;
		return;
	}
	put_pokes(file, &place, image->base, code, size < image->size ? size : (size_t)image->size);
	free(code);
}

/* ---- BPF_PROG_INFO ------------------------------------------------------------------------------- */

/* Appends a struct bpf_prog_info, and its arrays: code, address and size of the only function. */
static void put_program(struct ptl_bytes *out, const struct dump_perf_bpf_program *program, const uint8_t *tag,
			const uint8_t *code, size_t size)
{
	const size_t padded = (size + 7) / 8 * 8;
	uint8_t info[INFO_SIZE] = {0};

	common_store32(info, 1); /* any type of program */
	common_store32(info + 4, program->id);
	memcpy(info + 8, tag, TAG_SIZE);
	common_store32(info + 16, (uint32_t)size);
	common_store64(info + 24, 0); /* offset of the code */
	common_store32(info + 104, 1);
	common_store32(info + 108, 1);
	common_store64(info + 112, padded);     /* offset of the address */
	common_store64(info + 120, padded + 8); /* offset of the size */
	common_write_le(out, sizeof(info), 4);
	common_write_le(out, padded + 16, 4);
	common_write_le(out, 1 << 0 | 1 << 3 | 1 << 4, 8); /* arrays: code, addresses, sizes */
	common_write_bytes(out, info, sizeof(info));
	common_write_bytes(out, code, size);
	for (size_t i = size; i < padded; i++)
		common_write_le(out, 0, 1);
	common_write_le(out, program->address, 8);
	common_write_le(out, size, 8);
}

void dump_perf_kernel_programs(const struct dump_perf_kernel *kernel, const struct dump_perf_code *source,
			       struct ptl_bytes *feature)
{
	uint32_t count = 0;

	common_write_le(feature, 0, 4);
	for (size_t i = 0; i < kernel->load_count; i++) {
		const struct dump_perf_bpf_load *load = &kernel->loads[i];
		const struct dump_perf_bpf_program *program = load->program == NONE ? NULL
										    : &kernel->programs[load->program];
		const struct place place = place_of(program ? program->time : 0, program ? program->address : 0);
		const uint64_t *image = common_byte_map_get(&kernel->by_place, place.key, sizeof(place.key));
		uint8_t *code = NULL;
		size_t size = 0;

		if (!program || !image || !kernel->images[*image].has_code ||
		    !dump_perf_code_read(source, kernel->images[*image].code, &code, &size))
			continue;
		put_program(feature, program, load->tag, code, size);
		count++;
		free(code);
	}
	if (count && !feature->failed)
		common_store32(feature->data, count);
	else
		feature->size = 0;
}

/* ---- kcore_dir ----------------------------------------------------------------------------------- */

static void list_symbols(struct ptl_bytes *text, const struct dump_perf_kernel_image *image)
{
	const size_t count = image->symbols ? ptl_symbols_count(image->symbols) : 0;
	char module[600] = "";

	if (!image->mark)
		snprintf(module, sizeof(module), "\t%.590s", image->name);
	if (image->mark)
		common_text_format(text, "%016" PRIx64 " T %s\n", image->base, image->mark);
	for (size_t i = 0; i < count; i++) {
		const struct ptl_symbol symbol = ptl_symbols_get(image->symbols, i);
		const uint64_t address = symbol.address + image->bias;

		if (!*symbol.name || strpbrk(symbol.name, " \t\r\n") || address - image->base >= image->size ||
		    (image->mark && !strcmp(symbol.name, image->mark)))
			continue;
		common_text_format(text, "%016" PRIx64 " %c %s%s\n", address,
				   symbol.type && strchr("tTwW", symbol.type) ? symbol.type : 't', symbol.name, module);
	}
	if (image->mark)
		common_text_format(text, "%016" PRIx64 " T _etext\n", image->base + image->size);
}

static void list_module(struct ptl_bytes *text, const struct dump_perf_kernel_image *image)
{
	const char *name = image->name + (*image->name == '[');

	if (!image->mark)
		common_text_format(text, "%.*s %" PRIu64 " 0 - Live 0x%" PRIx64 "\n", (int)strcspn(name, "] \t\r\n"),
				   name, image->size, image->base);
}

/* Whether bytes of an earlier image lie in the core file already. */
static bool overlaps(const struct dump_perf_kernel *kernel, size_t number)
{
	const struct dump_perf_kernel_image *image = &kernel->images[number];

	for (size_t i = 0; i < number; i++)
		if (kernel->images[i].has_code && image->base < kernel->images[i].base + kernel->images[i].size &&
		    kernel->images[i].base < image->base + image->size)
			return true;
	return false;
}

/*
 * Writes a core file with a segment for each image with code. Code that the kernel made later is there from the start,
 * because perf forgets the bytes of out-of-line copies when it loads the core file.
 */
static int write_core(const struct dump_perf_kernel *kernel, const struct dump_perf_code *source, int fd,
		      uint64_t *missing)
{
	struct ptl_bytes headers = {0};
	uint64_t at = sizeof(Elf64_Ehdr) + kernel->count * sizeof(Elf64_Phdr);
	Elf64_Ehdr head = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_CORE,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
	};
	bool good = true;

	for (size_t i = 0; good && i < kernel->count; i++) {
		const struct dump_perf_kernel_image *image = &kernel->images[i];
		uint8_t *code = NULL;
		size_t size = 0;
		Elf64_Phdr segment = {.p_type = PT_LOAD, .p_flags = PF_R | PF_W | PF_X, .p_align = PAGE};

		if (overlaps(kernel, i))
			continue;
		if (!image->has_code || head.e_phnum == SEGMENTS_MAX ||
		    !dump_perf_code_read(source, image->code, &code, &size)) {
			++*missing;
			continue;
		}
		segment.p_offset = at;
		segment.p_vaddr = image->base;
		segment.p_filesz = segment.p_memsz = size;
		common_write_bytes(&headers, &segment, sizeof(segment));
		good = pwrite(fd, code, size, (off_t)at) == (ssize_t)size;
		at += size;
		head.e_phnum++;
		free(code);
	}
	if (headers.failed)
		return common_fail_memory("headers", headers.size);
	good = good && pwrite(fd, &head, sizeof(head), 0) == sizeof(head) &&
	       pwrite(fd, headers.data, headers.size, sizeof(head)) == (ssize_t)headers.size;
	common_bytes_free(&headers);
	return good ? 0 : common_fail_errno("cannot write code");
}

/* Opens folder/part/name; makes the folders of `part`, each behind a "/". */
static int open_part(struct common_output_file *file, const char *folder, const char *part, const char *name)
{
	struct ptl_bytes path = {0};
	int status = 0;

	common_text_add(&path, folder);
	for (const char *at = part; !status && *at; at += strcspn(at + 1, "/") + 1) {
		common_text_format(&path, "%.*s", (int)(strcspn(at + 1, "/") + 1), at);
		if (path.failed)
			status = common_fail_memory("a path", path.size);
		else if (mkdir(common_text_string(&path), 0777) < 0 && errno != EEXIST)
			status = common_fail_errno("cannot make the folder %s", common_text_string(&path));
	}
	common_text_format(&path, "/%s", name);
	if (!status)
		status = path.failed ? common_fail_memory("a path", path.size)
				     : common_output_open(file, common_text_string(&path), true);
	common_bytes_free(&path);
	return status;
}

static int write_list(const struct dump_perf_kernel *kernel, const char *folder, const char *part, const char *name,
		      void (*list)(struct ptl_bytes *text, const struct dump_perf_kernel_image *image))
{
	struct common_output_file file = {.fd = -1};
	struct ptl_bytes text = {0};
	int status = open_part(&file, folder, part, name);

	for (size_t i = 0; i < kernel->count; i++)
		if (in_core(kernel, &kernel->images[i]))
			list(&text, &kernel->images[i]);
	if (!status)
		status = text.failed ? common_fail_memory("names", text.size)
				     : common_write_all(file.fd, text.data, text.size);
	if (!status)
		status = common_output_commit(&file);
	common_output_abandon(&file);
	common_bytes_free(&text);
	return status;
}

bool dump_perf_kernel_has_code(const struct dump_perf_kernel *kernel)
{
	bool has = false;

	for (size_t i = 0; i < kernel->count; i++)
		has |= kernel->images[i].has_code;
	return has;
}

int dump_perf_kernel_write(const struct dump_perf_kernel *kernel, const struct dump_perf_code *source,
			   const char *folder, const char *part, uint64_t *missing)
{
	struct common_output_file file = {.fd = -1};
	int status = open_part(&file, folder, part, "kcore");

	if (!status)
		status = write_core(kernel, source, file.fd, missing);
	if (!status)
		status = common_output_commit(&file);
	common_output_abandon(&file);
	if (!status)
		status = write_list(kernel, folder, part, "kallsyms", list_symbols);
	return status ? status : write_list(kernel, folder, part, "modules", list_module);
}

int dump_perf_kernel_cache(const struct dump_perf_kernel *kernel, const char *folder)
{
	struct ptl_bytes part = {0};
	int status = 0;

	for (size_t i = 0; !status && i < kernel->count; i++) {
		const struct dump_perf_kernel_image *image = &kernel->images[i];

		if (!image->mark || !image->has_build_id || !in_core(kernel, image))
			continue;
		part.size = 0;
		common_text_add(&part, "/" OWN_NAME "/");
		common_text_hex_bytes(&part, image->build_id, DUMP_PERF_BUILD_ID);
		status = part.failed ? common_fail_memory("a path", part.size)
				     : write_list(kernel, folder, common_text_string(&part), "kallsyms", list_symbols);
	}
	common_bytes_free(&part);
	return status;
}
