/* SPDX-License-Identifier: BSD-2-Clause */
/* Opens ELF files with libelf; reads build ids and load addresses. */
#include "elf/file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/error.h"
#include "common/file.h"
#include "elf/state.h"

#define PAGE_MASK 0xfffull
#define NOTES_MAX (1u << 20) /* limit for a note segment, in bytes; larger segments are ignored */

int elf_failure(const char *what)
{
	return common_fail(PTL_CORRUPT, "%s: %s", what, elf_errmsg(-1));
}

static int read_elf_headers(Elf *handle, const struct elf_file *bytes, struct elf_file **result)
{
	struct elf_file *elf;

	if (!handle)
		return elf_failure("ELF file");
	if (elf_kind(handle) != ELF_K_ELF) {
		elf_end(handle);
		return common_fail(PTL_NOT_OURS, "not an ELF file");
	}
	elf = calloc(1, sizeof(*elf));
	if (!elf) {
		elf_end(handle);
		return common_fail_memory("ELF file", sizeof(*elf));
	}
	*elf = *bytes;
	elf->elf = handle;
	if (!gelf_getehdr(handle, &elf->header) || elf_getphdrnum(handle, &elf->segments) < 0 ||
	    elf_getshdrnum(handle, &elf->sections) < 0) {
		elf_close(elf);
		return elf_failure("ELF header");
	}
	if (elf_getshdrstrndx(handle, &elf->names) < 0)
		elf->names = 0;
	*result = elf;
	return 0;
}

int elf_open(int fd, struct elf_file **elf)
{
	const struct elf_file bytes = {.fd = fd};

	elf_version(EV_CURRENT);
	return read_elf_headers(elf_begin(fd, ELF_C_READ, NULL), &bytes, elf);
}

int elf_open_memory(const void *data, size_t size, struct elf_file **elf)
{
	const struct elf_file bytes = {.fd = -1, .data = data, .size = size};

	elf_version(EV_CURRENT);
	/* libelf requires a writable pointer, but does not write. */
	return read_elf_headers(elf_memory((char *)data, size), &bytes, elf);
}

void elf_close(struct elf_file *elf)
{
	if (!elf)
		return;
	elf_end(elf->elf);
	free(elf);
}

int elf_read(const struct elf_file *elf, uint64_t offset, void *data, size_t size)
{
	if (elf->fd >= 0)
		return common_read_at(elf->fd, data, size, offset) < 0 ? PTL_CORRUPT : 0;
	if (offset > elf->size || size > elf->size - offset)
		return common_fail(PTL_CORRUPT, "%zu bytes at offset %llu are not in the file", size,
				   (unsigned long long)offset);
	memcpy(data, elf->data + offset, size);
	return 0;
}

const char *elf_string(const struct elf_file *elf, size_t section, uint64_t offset)
{
	Elf_Scn *strings = elf_getscn(elf->elf, section);
	GElf_Shdr header;

	if (!strings || !gelf_getshdr(strings, &header) || header.sh_size > ELF_STRINGS_MAX ||
	    (header.sh_flags & SHF_COMPRESSED))
		return NULL;
	return elf_strptr(elf->elf, section, offset);
}

Elf_Scn *elf_section(const struct elf_file *elf, uint32_t type, const char *name, GElf_Shdr *header)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf->elf, section))) {
		const char *found;

		if (!gelf_getshdr(section, header) || (type != SHT_NULL && header->sh_type != type))
			continue;
		if (!name)
			return section;
		found = elf->names ? elf_string(elf, elf->names, header->sh_name) : NULL;
		if (found && !strcmp(found, name))
			return section;
	}
	return NULL;
}

/* Finds the build id in notes. Returns its size, or 0. */
static size_t find_build_id(Elf_Data *notes, uint8_t id[PTL_BUILD_ID_MAX])
{
	size_t at = 0, name, description;
	GElf_Nhdr note;

	while (notes && (at = gelf_getnote(notes, at, &note, &name, &description)) > 0) {
		const char *bytes = notes->d_buf;

		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(bytes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0 || !note.n_descsz ||
		    note.n_descsz > PTL_BUILD_ID_MAX)
			continue;
		memcpy(id, bytes + description, note.n_descsz);
		return note.n_descsz;
	}
	return 0;
}

size_t elf_notes_build_id(const void *notes, size_t size, uint8_t id[PTL_BUILD_ID_MAX])
{
	Elf_Data data = {.d_buf = (void *)(uintptr_t)notes, .d_type = ELF_T_NHDR, .d_size = size, .d_align = 4};

	return find_build_id(&data, id);
}

static size_t build_id_in_segments(const struct elf_file *elf, uint8_t id[PTL_BUILD_ID_MAX])
{
	GElf_Phdr segment;

	for (size_t i = 0; i < elf->segments; i++) {
		size_t size;

		if (!gelf_getphdr(elf->elf, (int)i, &segment) || segment.p_type != PT_NOTE ||
		    segment.p_filesz > NOTES_MAX || segment.p_offset > INT64_MAX)
			continue;
		size = find_build_id(elf_getdata_rawchunk(elf->elf, (int64_t)segment.p_offset, segment.p_filesz,
							  segment.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR),
				     id);
		if (size)
			return size;
	}
	return 0;
}

size_t elf_build_id(const struct elf_file *elf, uint8_t id[PTL_BUILD_ID_MAX])
{
	GElf_Shdr header;
	size_t size = build_id_in_segments(elf, id);
	Elf_Scn *section;

	if (size)
		return size;
	/* A separate debug file keeps the section, but its program header points to missing data. */
	section = elf_section(elf, SHT_NOTE, ".note.gnu.build-id", &header);
	return section && header.sh_size <= NOTES_MAX ? find_build_id(elf_getdata(section, NULL), id) : 0;
}

static bool segment_has(const GElf_Phdr *segment, uint64_t offset)
{
	const uint64_t first = segment->p_offset & ~PAGE_MASK;

	/* A segment cannot be mapped if its address and offset differ within the page. */
	return segment->p_type == PT_LOAD && !((segment->p_offset ^ segment->p_vaddr) & PAGE_MASK) && offset >= first &&
	       offset - first < segment->p_filesz + (segment->p_offset & PAGE_MASK);
}

bool elf_address(const struct elf_file *elf, uint64_t offset, uint64_t *address)
{
	bool found = false;
	GElf_Phdr segment;

	for (size_t i = 0; i < elf->segments; i++) {
		if (!gelf_getphdr(elf->elf, (int)i, &segment) || !segment_has(&segment, offset))
			continue;
		if (found && !(segment.p_flags & PF_X))
			continue;
		*address = segment.p_vaddr - segment.p_offset + offset;
		found = true;
		if (segment.p_flags & PF_X)
			break;
	}
	return found;
}

bool elf_offset(const struct elf_file *elf, uint64_t address, uint64_t *offset)
{
	GElf_Phdr segment;

	for (size_t i = 0; i < elf->segments; i++) {
		if (!gelf_getphdr(elf->elf, (int)i, &segment) || segment.p_type != PT_LOAD ||
		    address < segment.p_vaddr || address - segment.p_vaddr >= segment.p_filesz)
			continue;
		*offset = segment.p_offset + (address - segment.p_vaddr);
		return true;
	}
	return false;
}

uint64_t elf_first_address(const struct elf_file *elf)
{
	uint64_t first = UINT64_MAX;
	GElf_Phdr segment;

	for (size_t i = 0; i < elf->segments; i++)
		if (gelf_getphdr(elf->elf, (int)i, &segment) && segment.p_type == PT_LOAD && segment.p_vaddr < first)
			first = segment.p_vaddr;
	return first == UINT64_MAX ? 0 : first & ~PAGE_MASK;
}

bool elf_has_symtab(const struct elf_file *elf)
{
	GElf_Shdr header;

	return elf_section(elf, SHT_SYMTAB, NULL, &header) != NULL;
}

bool elf_has_debug(const struct elf_file *elf)
{
	GElf_Shdr header;

	return elf_section(elf, SHT_PROGBITS, ".debug_line", &header) ||
	       elf_section(elf, SHT_PROGBITS, ".zdebug_line", &header);
}

int elf_open_same(const char *path, const uint8_t *build_id, size_t build_id_size, struct elf_file **elf)
{
	uint8_t id[PTL_BUILD_ID_MAX];
	struct stat info;
	const int fd = build_id_size ? common_open_regular(path, &info) : -1;

	*elf = NULL;
	if (fd < 0)
		return -1;
	if (elf_open(fd, elf) == 0 && elf_build_id(*elf, id) == build_id_size && !memcmp(id, build_id, build_id_size))
		return fd;
	elf_close(*elf);
	*elf = NULL;
	close(fd);
	return -1;
}
