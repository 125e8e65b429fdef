/* SPDX-License-Identifier: BSD-2-Clause */
/* Makes ELF files from code blobs and symbol tables. */
#include "dump/export/perf/perf_cache.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "common/text/text.h"
#include "common/vector.h"
#include "flow/code/code_file.h"

#define BLOB_MAX ((size_t)4 << 30)
#define PAGE 4096u
/* per file: each segment takes 56 bytes of the head, and sections are counted with two bytes */
#define SEGMENTS_MAX 4096

/* ---- objects ------------------------------------------------------------------------------------- */

void dump_perf_build_id(const struct ptl_image_event *image, uint8_t build_id[DUMP_PERF_BUILD_ID])
{
	const size_t size = image->build_id_size < DUMP_PERF_BUILD_ID ? image->build_id_size : DUMP_PERF_BUILD_ID;

	memset(build_id, 0, DUMP_PERF_BUILD_ID);
	if (size)
		memcpy(build_id, image->build_id, size);
	else if (image->has_code)
		memcpy(build_id, image->code, DUMP_PERF_BUILD_ID);
}

static int find_object(struct dump_perf_cache *cache, const uint8_t *build_id, struct dump_perf_object **object)
{
	const uint64_t *known = common_byte_map_get(&cache->by_build_id, build_id, DUMP_PERF_BUILD_ID);

	if (known) {
		*object = &cache->objects[*known];
		return 0;
	}
	if (!common_vector_room(&cache->objects, cache->count, sizeof(*cache->objects)))
		return common_fail_memory("images", cache->count * sizeof(*cache->objects));
	*object = &cache->objects[cache->count];
	**object = (struct dump_perf_object){0};
	memcpy((*object)->build_id, build_id, DUMP_PERF_BUILD_ID);
	return common_byte_map_put(&cache->by_build_id, build_id, DUMP_PERF_BUILD_ID, cache->count++);
}

/* Makes room for the headers before the first segment. */
static void make_header_room(struct dump_perf_object *object)
{
	const uint64_t head = sizeof(Elf64_Ehdr) + object->count * sizeof(Elf64_Phdr);
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < object->count; i++)
		if (object->segments[i].offset < lowest)
			lowest = object->segments[i].offset;
	object->shift = lowest >= head ? 0 : (head + PAGE - 1) / PAGE * PAGE;
}

int dump_perf_cache_add(struct dump_perf_cache *cache, const struct ptl_image_event *image,
			const struct ptl_symbol_table *symbols)
{
	const struct dump_perf_segment segment = {
		.offset = image->file_offset, .address = image->default_base, .size = image->size};
	uint8_t build_id[DUMP_PERF_BUILD_ID];
	struct dump_perf_object *object = NULL;
	int status;

	dump_perf_build_id(image, build_id);
	status = find_object(cache, build_id, &object);
	if (status)
		return status;
	if (!object->symbols)
		object->symbols = symbols;
	for (size_t i = 0; i < object->count; i++)
		if (object->segments[i].offset == segment.offset && object->segments[i].size >= segment.size)
			return 0;
	if (object->count == SEGMENTS_MAX)
		return 0;
	if (!common_vector_room(&object->segments, object->count, sizeof(segment)))
		return common_fail_memory("images", object->count * sizeof(segment));
	object->segments[object->count] = segment;
	memcpy(object->segments[object->count++].code, image->code, PTL_HASH_SIZE);
	make_header_room(object);
	return 0;
}

const struct dump_perf_object *dump_perf_cache_find(const struct dump_perf_cache *cache,
						    const uint8_t build_id[DUMP_PERF_BUILD_ID])
{
	const uint64_t *known = common_byte_map_get(&cache->by_build_id, build_id, DUMP_PERF_BUILD_ID);

	return known ? &cache->objects[*known] : NULL;
}

void dump_perf_cache_free(struct dump_perf_cache *cache)
{
	for (size_t i = 0; i < cache->count; i++)
		free(cache->objects[i].segments);
	free(cache->objects);
	common_byte_map_free(&cache->by_build_id);
}

/* ---- a file -------------------------------------------------------------------------------------- */

/* The parts of a file after its code. */
struct tail {
	struct ptl_bytes symbols, names, section_names, sections;
	uint64_t at; /* file offset of the tail */
};

static uint32_t section_name(struct tail *tail, const char *name)
{
	const size_t at = tail->section_names.size;

	common_write_bytes(&tail->section_names, name, strlen(name) + 1);
	return (uint32_t)at;
}

static void add_section(struct tail *tail, const char *name, const Elf64_Shdr *like)
{
	Elf64_Shdr section = *like;

	section.sh_name = section_name(tail, name);
	common_write_bytes(&tail->sections, &section, sizeof(section));
}

/* Returns the number of the section that contains an address, from 1; 0: none. */
static uint16_t section_of(const struct dump_perf_object *object, uint64_t address)
{
	for (size_t i = 0; i < object->count; i++)
		if (address - object->segments[i].address < object->segments[i].size)
			return (uint16_t)(i + 1);
	return 0;
}

static void add_symbol(struct tail *tail, const struct dump_perf_object *object, const struct ptl_symbol *symbol)
{
	const bool local = symbol->type == 't', weak = symbol->type == 'W';
	const Elf64_Sym entry = {
		.st_name = (uint32_t)tail->names.size,
		.st_info = ELF64_ST_INFO(local  ? STB_LOCAL
					 : weak ? STB_WEAK
						: STB_GLOBAL,
					 STT_FUNC),
		.st_shndx = section_of(object, symbol->address),
		.st_value = symbol->address,
		.st_size = symbol->size,
	};

	/* A function of the unwind table may have no name. */
	if (!*symbol->name || !entry.st_shndx || tail->names.size > UINT32_MAX)
		return;
	common_write_bytes(&tail->symbols, &entry, sizeof(entry));
	common_write_bytes(&tail->names, symbol->name, strlen(symbol->name) + 1);
}

static void add_symbols(struct tail *tail, const struct dump_perf_object *object)
{
	static const Elf64_Sym none;
	const size_t count = object->symbols ? ptl_symbols_count(object->symbols) : 0;

	common_write_bytes(&tail->symbols, &none, sizeof(none));
	common_write_le(&tail->names, 0, 1);
	for (size_t i = 0; i < count; i++) {
		const struct ptl_symbol symbol = ptl_symbols_get(object->symbols, i);

		add_symbol(tail, object, &symbol);
	}
}

/* written: by segment, whether the file has its code. */
static void add_code_sections(struct tail *tail, const struct dump_perf_object *object, const bool *written)
{
	static const Elf64_Shdr none;

	common_write_bytes(&tail->sections, &none, sizeof(none));
	section_name(tail, "");
	for (size_t i = 0; i < object->count; i++) {
		const struct dump_perf_segment *segment = &object->segments[i];

		add_section(tail, ".text",
			    &(Elf64_Shdr){.sh_type = written[i] ? SHT_PROGBITS : SHT_NOBITS,
					  .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
					  .sh_addr = segment->address,
					  .sh_offset = segment->offset + object->shift,
					  .sh_size = segment->size,
					  .sh_addralign = 16});
	}
}

/* Writes the build id note, symbols, names and sections. tail->at moves to the end. */
static int write_tail(int fd, struct tail *tail, const struct dump_perf_object *object)
{
	uint8_t note[16 + DUMP_PERF_BUILD_ID] = {4, 0,   0,   0,  DUMP_PERF_BUILD_ID, 0, 0, 0, NT_GNU_BUILD_ID, 0, 0,
						 0, 'G', 'N', 'U'};
	const struct ptl_bytes parts[] = {{.data = note, .size = sizeof(note)}, tail->symbols, tail->names};
	const uint32_t text = (uint32_t)object->count;
	uint64_t at = tail->at, places[3];

	memcpy(note + 16, object->build_id, DUMP_PERF_BUILD_ID);
	for (size_t i = 0; i < 3; i++) {
		places[i] = at;
		at += (parts[i].size + 7) / 8 * 8;
		if (pwrite(fd, parts[i].data, parts[i].size, (off_t)places[i]) != (ssize_t)parts[i].size)
			return common_fail_errno("cannot write code");
	}
	add_section(tail, ".note.gnu.build-id",
		    &(Elf64_Shdr){
			    .sh_type = SHT_NOTE, .sh_offset = places[0], .sh_size = parts[0].size, .sh_addralign = 4});
	add_section(tail, ".symtab",
		    &(Elf64_Shdr){.sh_type = SHT_SYMTAB,
				  .sh_offset = places[1],
				  .sh_size = parts[1].size,
				  .sh_link = text + 3,
				  .sh_info = 1,
				  .sh_addralign = 8,
				  .sh_entsize = sizeof(Elf64_Sym)});
	add_section(
		tail, ".strtab",
		&(Elf64_Shdr){
			.sh_type = SHT_STRTAB, .sh_offset = places[2], .sh_size = parts[2].size, .sh_addralign = 1});
	tail->at = at;
	return 0;
}

static int write_sections(int fd, struct tail *tail)
{
	Elf64_Shdr own = {.sh_type = SHT_STRTAB, .sh_addralign = 1, .sh_offset = tail->at};
	const uint32_t name = section_name(tail, ".shstrtab");

	own.sh_name = name;
	own.sh_size = tail->section_names.size;
	common_write_bytes(&tail->sections, &own, sizeof(own));
	if (tail->sections.failed || tail->section_names.failed)
		return common_fail_memory("sections", tail->sections.size);
	if (pwrite(fd, tail->section_names.data, tail->section_names.size, (off_t)tail->at) !=
	    (ssize_t)tail->section_names.size)
		return common_fail_errno("cannot write code");
	tail->at += (tail->section_names.size + 7) / 8 * 8;
	if (pwrite(fd, tail->sections.data, tail->sections.size, (off_t)tail->at) != (ssize_t)tail->sections.size)
		return common_fail_errno("cannot write code");
	return 0;
}

static int write_head(int fd, const struct tail *tail, const struct dump_perf_object *object)
{
	const size_t sections = tail->sections.size / sizeof(Elf64_Shdr);
	Elf64_Ehdr head = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = tail->at,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (uint16_t)object->count,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)sections,
		.e_shstrndx = (uint16_t)(sections - 1),
	};
	bool good = pwrite(fd, &head, sizeof(head), 0) == sizeof(head);

	for (size_t i = 0; good && i < object->count; i++) {
		const struct dump_perf_segment *segment = &object->segments[i];
		const Elf64_Phdr program = {
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_offset = segment->offset + object->shift,
			.p_vaddr = segment->address,
			.p_paddr = segment->address,
			.p_filesz = segment->size,
			.p_memsz = segment->size,
			.p_align = PAGE,
		};

		good = pwrite(fd, &program, sizeof(program), (off_t)(sizeof(head) + i * sizeof(program))) ==
		       sizeof(program);
	}
	return good ? 0 : common_fail_errno("cannot write code");
}

bool dump_perf_code_read(const struct dump_perf_code *source, const uint8_t hash[PTL_HASH_SIZE], uint8_t **data,
			 size_t *size)
{
	const struct flow_outside_blob *blob = NULL;
	uint64_t there;

	if (ptl_blob_read(source->trace, hash, BLOB_MAX, data, size) == 0)
		return true;
	for (size_t i = 0; !blob && i < source->outside_count; i++)
		if (memcmp(source->outside[i].hash, hash, PTL_HASH_SIZE) == 0)
			blob = &source->outside[i];
	if (!blob || !*blob->path || !blob->size || blob->size > FLOW_CODE_FILE_MAX)
		return false;
	*data = malloc(blob->size);
	if (*data && flow_code_from_file(blob, *data, &there)) {
		*size = there;
		return true;
	}
	free(*data);
	return false;
}

/* Writes the code. Sizes come from a trace: a size beyond any disk is rejected. written: by segment, set if it has code. */
static int write_code(int fd, const struct dump_perf_object *object, const struct dump_perf_code *source, uint64_t *end,
		      bool *written, uint64_t *missing)
{
	for (size_t i = 0; i < object->count; i++) {
		const struct dump_perf_segment *segment = &object->segments[i];
		const uint64_t at = segment->offset + object->shift;
		uint8_t *data;
		size_t size;

		if (at > (uint64_t)1 << 40 || segment->size > (uint64_t)1 << 40 ||
		    !dump_perf_code_read(source, segment->code, &data, &size)) {
			++*missing;
			continue;
		}
		if (size > segment->size)
			size = (size_t)segment->size;
		if (pwrite(fd, data, size, (off_t)at) != (ssize_t)size) {
			free(data);
			return common_fail_errno("cannot write code");
		}
		free(data);
		written[i] = true;
		if (at + segment->size > *end)
			*end = (at + segment->size + 7) / 8 * 8;
	}
	return 0;
}

static int write_object(int fd, const struct dump_perf_object *object, const struct dump_perf_code *source,
			uint64_t *missing)
{
	struct tail tail = {.at = sizeof(Elf64_Ehdr) + object->count * sizeof(Elf64_Phdr)};
	bool *written = calloc(object->count + 1, sizeof(*written));
	int status = written ? write_code(fd, object, source, &tail.at, written, missing)
			     : common_fail_memory("images", object->count);

	if (written)
		add_code_sections(&tail, object, written);
	add_symbols(&tail, object);
	if (!status && (tail.symbols.failed || tail.names.failed))
		status = common_fail_memory("symbols", tail.symbols.size);
	if (!status)
		status = write_tail(fd, &tail, object);
	if (!status)
		status = write_sections(fd, &tail);
	if (!status)
		status = write_head(fd, &tail, object);
	free(written);
	common_bytes_free(&tail.symbols);
	common_bytes_free(&tail.names);
	common_bytes_free(&tail.section_names);
	common_bytes_free(&tail.sections);
	return status;
}

/* ---- the cache ----------------------------------------------------------------------------------- */

static int make_folder(struct ptl_bytes *path)
{
	const char *name = common_text_string(path);

	if (mkdir(name, 0777) < 0 && errno != EEXIST)
		return common_fail_errno("cannot make the folder %s", name);
	return 0;
}

/* Writes the file folder/.build-id/ab/cdef..., a form that all versions of perf read. */
static int write_file(const struct dump_perf_object *object, const struct dump_perf_code *source, const char *folder,
		      uint64_t *missing)
{
	struct common_output_file output = {.fd = -1};
	struct ptl_bytes path = {0};
	int status;

	common_text_add(&path, folder);
	status = make_folder(&path);
	common_text_add(&path, "/.build-id");
	if (!status)
		status = make_folder(&path);
	common_text_add(&path, "/");
	common_text_hex_bytes(&path, object->build_id, 1);
	if (!status)
		status = make_folder(&path);
	common_text_add(&path, "/");
	common_text_hex_bytes(&path, object->build_id + 1, DUMP_PERF_BUILD_ID - 1);
	if (!status)
		status = path.failed ? common_fail_memory("a path", path.size)
				     : common_output_open(&output, common_text_string(&path), true);
	if (!status)
		status = write_object(output.fd, object, source, missing);
	if (!status)
		status = common_output_commit(&output);
	common_output_abandon(&output);
	common_bytes_free(&path);
	return status;
}

int dump_perf_cache_write(const struct dump_perf_cache *cache, const struct dump_perf_code *source, const char *folder,
			  uint64_t *missing)
{
	int status = 0;

	for (size_t i = 0; !status && i < cache->count; i++)
		status = write_file(&cache->objects[i], source, folder, missing);
	return status;
}
