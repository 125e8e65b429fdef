/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of functions from files of this machine: the mapped file, or its separate debug file. */
#ifndef FLOW_SYMBOL_SYMBOL_FILE_H
#define FLOW_SYMBOL_SYMBOL_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/kernel.h>
#include <ptl/symbols.h>

/*
 * Reads a symbol table, which the caller frees. Returns NULL if the file is missing, has another build id, or has no
 * names. given: only use debug files in the folders of elf_debug_path_add.
 */
struct ptl_symbol_table *flow_symbols_from_file(const struct ptl_image_event *image, bool given);

#endif
