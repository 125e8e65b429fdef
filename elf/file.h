/* SPDX-License-Identifier: BSD-2-Clause */
/* Reads ELF files: identity, load addresses, symbols. */
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
 * Opens an ELF file for reading. The caller owns fd and keeps it open as long as the result. The file is read with
 * pread, so that truncation is an error, not a signal. PTL_NOT_OURS: not ELF; PTL_CORRUPT; PTL_NO_MEMORY.
 */
int elf_open(int fd, struct elf_file **elf);
/* As elf_open, for a file in memory. The caller owns the bytes and keeps them alive as long as the result. */
int elf_open_memory(const void *data, size_t size, struct elf_file **elf);
void elf_close(struct elf_file *elf);

/* Copies the GNU build id. Returns its size; 0 without a build id. */
size_t elf_build_id(const struct elf_file *elf, uint8_t id[PTL_BUILD_ID_MAX]);
/* As elf_build_id, for bare notes aligned to 4 bytes, such as the kernel's own in /sys/kernel/notes. */
size_t elf_notes_build_id(const void *notes, size_t size, uint8_t id[PTL_BUILD_ID_MAX]);
/*
 * Opens the regular file at `path` if its build id matches. Returns a close-on-exec descriptor and *elf, both for the
 * caller to close; else -1 and NULL.
 */
int elf_open_same(const char *path, const uint8_t *build_id, size_t build_id_size, struct elf_file **elf);

/*
 * Converts a file offset to a virtual address by the program headers, preferring an executable segment. Returns false
 * if no segment contains the byte. A segment starts at its page boundary, as the kernel maps whole pages.
 */
bool elf_address(const struct elf_file *elf, uint64_t offset, uint64_t *address);

/* Converts a virtual address to a file offset. Returns false if no segment's file content has this address. */
bool elf_offset(const struct elf_file *elf, uint64_t address, uint64_t *offset);

/* Returns the page address of the lowest loaded virtual address; 0 if nothing is loaded, as in an object file. */
uint64_t elf_first_address(const struct elf_file *elf);

/* Whether the file has a full symbol table (is not stripped), and whether it has DWARF line information. */
bool elf_has_symtab(const struct elf_file *elf);
bool elf_has_debug(const struct elf_file *elf);

/* A range of bytes in a file. */
struct elf_range {
	uint64_t offset, size;
};

/*
 * Finds the bytes of a file that its sections declare as loaded, read-only and not executable. The ranges are sorted
 * and disjoint, in new memory, which the caller frees (NULL without ranges). Excludes bytes that another section covers
 * as well, and sections that contain functions or the entry point. Ranges may extend beyond the end of the file.
 * PTL_NO_MEMORY.
 */
int elf_read_only(const struct elf_file *elf, struct elf_range **ranges, size_t *count);

/*
 * Encodes function names for ptl/symbols.h. Sources: .symtab of `debug` (may be NULL) or of `elf`, else of elf's
 * MiniDebugInfo if that can be unpacked; .dynsym; and PLT entries as "name@plt". `out` stays empty if no source has
 * names. PTL_CORRUPT, PTL_NO_MEMORY.
 */
int elf_symbols(const struct elf_file *elf, const struct elf_file *debug, struct ptl_bytes *out);
/* As elf_symbols. *cut: number of names dropped because they overlap more than the names of a valid file do. */
int elf_symbols_counted(const struct elf_file *elf, const struct elf_file *debug, struct ptl_bytes *out, uint64_t *cut);

/*
 * As elf_symbols_counted, but fills a list with only the names that the list wants. Memory use depends on these names,
 * not on the file's size.
 */
int elf_functions(const struct elf_file *elf, const struct elf_file *debug, struct elf_symbol_list *symbols);

#endif
