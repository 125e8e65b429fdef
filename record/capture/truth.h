/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The truth file: which blocks the software source really executed, to hold a decoder's flow
 * against.
 */
#ifndef RECORD_CAPTURE_TRUTH_H
#define RECORD_CAPTURE_TRUTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ptl/writer.h>

/*
 * It is a .ptl file of its own that holds streams of kind PTL_KIND_TRUTH alone, of two sorts. All
 * numbers are little-endian.
 *
 * Definitions: one stream for each program that a process runs (pid; tid is PTL_NO_ID), a sequence
 * of
 *
 *     u32 number           of a block, below 2^31; of two definitions the later one counts
 *     u32 count
 *     u64 address[count]   of its instructions
 *
 * In those of a forked process this comes first:
 *
 *     u32 RECORD_TRUTH_INHERIT
 *     u32 stream           id of the parent's definitions
 *     u64 size             the first bytes of that stream are definitions here too, up to this size
 *
 * Execution: one or more streams a thread (pid, tid), whose words follow each other in the order of
 * their ids:
 *
 *     u32 stream           id of the definitions for what follows
 *     u32 words            a word n below 2^31: block n was executed, all of its instructions;
 *                          a word n + 2^31: of block n only so many instructions as the
 *                          next word says
 *
 * An instruction with a repeat prefix is shown once however often it repeats.
 */
#define RECORD_TRUTH_INHERIT UINT32_MAX
#define RECORD_TRUTH_PARTIAL 0x80000000u

struct record_truth;

/*
 * Starts a truth file; without force an existing file is an error. machine is that of the trace.
 * PTL_SYSTEM, PTL_NO_MEMORY.
 */
int record_truth_open(const char *path, bool force, const struct ptl_machine *machine, struct record_truth **truth);

/* Begins the definitions of a program that process pid runs. */
int record_truth_program(struct record_truth *truth, uint32_t pid, uint32_t *definitions);
/* States that a program starts with what the parent's definitions hold so far. */
int record_truth_inherit(struct record_truth *truth, uint32_t definitions, uint32_t parent);
/* Defines a block. */
int record_truth_block(struct record_truth *truth, uint32_t definitions, uint32_t number, const uint64_t *addresses,
		       size_t count);
/* Begins a thread's execution in a program; *stream is what its words are appended to. */
int record_truth_thread(struct record_truth *truth, uint32_t definitions, uint32_t pid, uint32_t tid, uint32_t *stream);
int record_truth_words(struct record_truth *truth, uint32_t stream, const uint32_t *words, size_t count);

/* Closes the file; the first failure of its whole life is returned. */
int record_truth_close(struct record_truth *truth);

#endif
