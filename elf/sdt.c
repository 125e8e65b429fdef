/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses notes in SystemTap's format: three addresses (of the probe, of .stapsdt.base at link time, of the semaphore),
 * then three strings.
 */
#include "elf/sdt.h"

#include <string.h>

#include "common/error.h"
#include "elf/state.h"

#define OWNER "stapsdt"
#define NOTE_TYPE 3
#define SECTION_MAX ((size_t)64 << 20)

static const char *read_string(struct common_cursor *cursor)
{
	const size_t left = common_cursor_left(cursor);
	const char *text = (const char *)cursor->data + cursor->at;

	return (const char *)(common_read_bytes(cursor, strnlen(text, left) + 1) ? text : NULL);
}

/*
 * Parses a note. base: current address of .stapsdt.base, 0 if missing. prelink moves the file's sections without
 * adjusting the notes.
 */
static bool read_note(const uint8_t *data, size_t size, uint64_t base, struct elf_sdt_probe *probe)
{
	struct common_cursor cursor = common_cursor(data, size);
	uint64_t moved;

	probe->address = common_read64(&cursor);
	moved = base - common_read64(&cursor);
	probe->semaphore = common_read64(&cursor);
	if (base) {
		probe->address += moved;
		probe->semaphore += probe->semaphore ? moved : 0;
	}
	probe->provider = read_string(&cursor);
	probe->name = read_string(&cursor);
	probe->arguments = read_string(&cursor);
	return !cursor.failed && *probe->provider && *probe->name;
}

int elf_sdt_probes(const struct elf_file *elf, int (*visit)(void *context, const struct elf_sdt_probe *probe),
		   void *context)
{
	size_t at = 0, next, name, description;
	GElf_Shdr header, base = {0};
	struct elf_sdt_probe probe;
	Elf_Scn *section = elf_section(elf, SHT_NOTE, ".note.stapsdt", &header);
	GElf_Nhdr note;
	Elf_Data *data;
	int status = 0;

	if (!section)
		return 0;
	if (header.sh_size > SECTION_MAX)
		return common_fail(PTL_CORRUPT, "a section .note.stapsdt of %llu bytes",
				   (unsigned long long)header.sh_size);
	data = elf_getdata(section, NULL);
	if (!data || !data->d_buf)
		return elf_failure("the section .note.stapsdt");
	if (!elf_section(elf, SHT_NULL, ".stapsdt.base", &base))
		base.sh_addr = 0;
	for (; status == 0 && (next = gelf_getnote(data, at, &note, &name, &description)); at = next)
		if (note.n_type == NOTE_TYPE && note.n_namesz == sizeof(OWNER) &&
		    !memcmp((const uint8_t *)data->d_buf + name, OWNER, sizeof(OWNER)) &&
		    read_note((const uint8_t *)data->d_buf + description, note.n_descsz, base.sh_addr, &probe))
			status = visit(context, &probe);
	return status;
}
