/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions from files of this machine: of the file that was mapped, or of its separate debug file. */
#ifndef FLOW_SYMBOL_SYMBOL_FILE_H
#define FLOW_SYMBOL_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>
#include <ptl/symbols.h>

#include "elf/jit_names.h"
#include "flow/symbol/jit_file.h"

/*
 * A table that the caller frees; NULL: no such file, one of another build id, or one without names. With `given` only
 * debug files below the folders of elf_debug_path_add count.
 */
struct ptl_symbol_table *flow_symbols_from_file(const struct ptl_image_event *image, bool given);

/* What the tables of an image are known by: those of several images may be one. */
struct flow_image_key {
	const uint8_t *bytes;
	size_t size;
	const struct elf_jit_names *jit; /* not NULL: bytes are this pointer */
};
/*
 * The hash of what the trace has of them (NULL: nothing), unless folders of debug files were given; else the build id; else
 * the names of code that was made at run time: of files that the user names, or those in the trace. A size of 0: there is nothing
 * to look for.
 */
void flow_image_key(const struct ptl_image_event *image, const uint8_t *hash, struct flow_jit_files *jit,
		    struct flow_image_key *key);

#endif
