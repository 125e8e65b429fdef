/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions from files of this machine: of the file that was mapped, or of its separate debug file. */
#ifndef FLOW_SYMBOL_SYMBOL_FILE_H
#define FLOW_SYMBOL_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>
#include <ptl/symbols.h>

/*
 * A table that the caller frees; NULL: no such file, one of another build id, or one without names. With `given` only
 * debug files below the folders of elf_debug_path_add count.
 */
struct ptl_symbol_table *flow_symbols_from_file(const struct ptl_image_event *image, bool given);

#endif
