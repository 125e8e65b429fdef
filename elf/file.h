/* SPDX-License-Identifier: BSD-2-Clause */
/* What is read of an ELF file: identity, load addresses, symbols. */
#ifndef ELF_FILE_H
#define ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>

#include "common/bytes.h"
#include "elf/symbol_list.h"

struct elf_file;

/*
 * Opens an ELF file for reading. fd stays the caller's and must stay open as long as the result; it
 * is read with pread, so that a file that is cut meanwhile is an error and no signal. PTL_NOT_OURS:
 * not ELF; PTL_CORRUPT; PTL_NO_MEMORY.
 */
int elf_open(int fd, struct elf_file **elf);
/* The same of bytes in memory, which stay the caller's. */
int elf_open_memory(const void *data, size_t size, struct elf_file **elf);
void elf_close(struct elf_file *elf);

/* Copies the GNU build id; returns its size, 0 where there is none. */
size_t elf_build_id(const struct elf_file *elf, uint8_t id[PTL_BUILD_ID_MAX]);
/* The same of notes alone, aligned to 4 bytes: of what the kernel shows of itself, /sys/kernel/notes. */
size_t elf_notes_build_id(const void *notes, size_t size, uint8_t id[PTL_BUILD_ID_MAX]);

/*
 * The virtual address that the program headers give to the byte at offset of the file, an
 * executable segment first; false where no segment has that byte. The first page of a segment
 * counts as the whole page, as the kernel maps it.
 */
bool elf_address(const struct elf_file *elf, uint64_t offset, uint64_t *address);

/* The other way round: where in the file the byte is that is loaded at this address; false where none is. */
bool elf_offset(const struct elf_file *elf, uint64_t address, uint64_t *offset);

/* The lowest virtual address that is loaded, of the page it begins; 0 where nothing is, as in an object file. */
uint64_t elf_first_address(const struct elf_file *elf);

/* Whether it has a full symbol table (not stripped), and whether it has DWARF line information. */
bool elf_has_symtab(const struct elf_file *elf);
bool elf_has_debug(const struct elf_file *elf);

/* Bytes of a file. */
struct elf_range {
	uint64_t offset, size;
};

/*
 * The bytes of the file that its sections say are loaded, never written and no instructions: in order, apart from
 * each other, in fresh memory (caller frees; NULL where there are none). Bytes that lie in another section, too, and
 * sections in which functions or the entry point lie, are left out. Ranges may lie beyond the end of the file.
 * PTL_NO_MEMORY.
 */
int elf_read_only(const struct elf_file *elf, struct elf_range **ranges, size_t *count);

/*
 * Encodes the names of functions for ptl/symbols.h: .symtab of `debug` (may be NULL) or of elf,
 * else that of elf's MiniDebugInfo, if it can be unpacked, and .dynsym; and the entries of the PLT as "name@plt".
 * Where there is no name at all, out stays empty. PTL_CORRUPT, PTL_NO_MEMORY.
 */
int elf_symbols(const struct elf_file *elf, const struct elf_file *debug, struct ptl_bytes *out);
/* The same. *cut: names that were cut, since names of the file overlap more than those of a sound file do. */
int elf_symbols_counted(const struct elf_file *elf, const struct elf_file *debug, struct ptl_bytes *out, uint64_t *cut);

/* The same, as a list, and only those that the list wants. Memory goes with these, not with the size of the file. */
int elf_functions(const struct elf_file *elf, const struct elf_file *debug, struct elf_symbol_list *symbols);

#endif
